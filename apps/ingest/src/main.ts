import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { isLogUnusable } from '#event-log/assert-usable';
import { StreamFinder } from '#event-log/find-stream';
import { openAppLog } from '#event-log/open-app-log';
import { PlacementStates } from '#event-log/placement-states';
import { QuestionRenewal } from '#event-log/question-renewal';
import { LogTail } from '#messaging/log-tail';
import { appParts } from '#platform/app-parts';
import { authenticationOff } from '#platform/auth';
import { busReports } from '#platform/bus-reports';
import { systemClock } from '#platform/clock';
import { every } from '#platform/every';
import { addHealthRoutes } from '#platform/health-routes';
import { createHttpServer, portOf } from '#platform/http-server';
import { loadConfig } from '#platform/load-config';
import { logChecks, logServes } from '#platform/log-checks';
import { frameworkLogger } from '#platform/logger';
import { ownHosts } from '#platform/own-hosts';
import { Sealer } from '#platform/sealer';
import { CLOSE_DEADLINE_MS, CUT_AFTER_MS, closeOnSignal, endWithStdin, together } from '#platform/shutdown';
import { LOG_WAIT, runApp, untilReachable } from '#platform/start-up';
import { keptStoreClock } from '#platform/store-clock';
import { tailReports } from '#platform/tail-reports';
import { AnswerStates } from './answer-states.ts';
import { serveApiDocs } from './api-docs.ts';
import { AttemptAnswers } from './attempt-answers.ts';
import { AttemptCalls } from './attempt-calls.ts';
import { AttemptIntake } from './attempt-intake.ts';
import { callMetrics } from './call-metrics.ts';
import { DecisionWaiters } from './decision-waiters.ts';
import { FailoverQuestions } from './failover-questions.ts';
import { LogHealth } from './health.controller.ts';
import { IngestModule } from './ingest.module.ts';
import { IngestBus } from './ingest-bus.ts';
import { IngestConfig } from './ingest-config.ts';
import { LaunchCalls } from './launch-calls.ts';
import { LaunchIntake } from './launch-intake.ts';
import { LaunchResults } from './launch-results.ts';
import { reportBadLimits } from './limit-reports.ts';
import { ObservationCalls } from './observation-calls.ts';
import { ObservationIntake } from './observation-intake.ts';
import { ProblemFilter } from './problem.filter.ts';
import { Results } from './results.ts';

const DAY_S = 24 * 60 * 60;
/** Failure texts whose time is over go in small steps, so that no append waits for them (fallback 7). */
const RETENTION_EVERY_MS = 30_000;
const RETENTION_ROWS_MAX = 1_000;
const CACHED_PLACEMENTS_MAX = 10_000;

async function start(): Promise<void> {
  const config = loadConfig(IngestConfig);
  const { logger, metrics, ring, sealing, keys } = appParts('ingest', config);

  const log = await untilReachable(
    () =>
      openAppLog({
        app: 'ingest',
        role: 'spillway_app',
        keys,
        url: config.SPILLWAY_DATABASE_URL.reveal(),
        now: () => systemClock.monotonicMs(),
        onFault: (fault) => logger.warn('log_fault', {}, fault),
      }),
    { ...LOG_WAIT, logger, isFinal: isLogUnusable },
  );
  const tail = new LogTail({ log, ...tailReports(logger) });
  await tail.start();
  const { clock, stop: stopClock } = await keptStoreClock(log.leases, systemClock, (error) =>
    logger.warn('clock_not_read', {}, error),
  );

  const sealer = new Sealer({ store: log.sealed, ...sealing });
  const streams = new StreamFinder(ring, log);
  tail.subscribe((row) => sealer.observe(row));
  const states = new AnswerStates(log);
  tail.subscribe((row) => states.observe(row));
  const waiters = new DecisionWaiters(tail);
  const renewal = new QuestionRenewal({
    log,
    now: () => clock.now(),
    tokenLifeS: config.SPILLWAY_TOKEN_LIFE_S,
  });
  const deployment = config.SPILLWAY_DEPLOYMENT;
  const answers = new AttemptAnswers({ deployment, streams, states, log, sealer, renewal });
  const failureRetentionS = config.SPILLWAY_FAILURE_RETENTION_DAYS * DAY_S;
  const intake = new AttemptIntake({
    ring,
    streams,
    log,
    sealer,
    clock,
    failureRetentionS,
  });
  const waiting = { waiters, decisionWaitMs: config.SPILLWAY_DECISION_WAIT_MS };
  const attempts = new AttemptCalls({
    intake,
    answers,
    ...waiting,
    ring,
    onCall: callMetrics(metrics, 'attempt'),
  });

  const lanes = config.SPILLWAY_LANES;
  const { limits, bad } = config.SPILLWAY_LIMITS;
  reportBadLimits(logger, metrics, bad);
  const placements = new PlacementStates(log, CACHED_PLACEMENTS_MAX);
  const questions = new FailoverQuestions({ deployment, streams, placements, log, renewal });
  const edge = { ring, streams, placements, log, sealer, clock };
  const launches = new LaunchCalls({
    intake: new LaunchIntake({ ...edge, lanes, limits }),
    lanes,
    ring,
    onCall: callMetrics(metrics, 'launch'),
  });
  const observations = new ObservationCalls({
    intake: new ObservationIntake({ ...edge, failureRetentionS }),
    questions,
    ...waiting,
    log,
    ring,
    clock,
    onCall: callMetrics(metrics, 'observation'),
  });
  const results = new Results({
    ring,
    log,
    attempts: answers,
    observations,
    launches: new LaunchResults({ placements, questions, log, ring }),
  });
  const busSide =
    config.SPILLWAY_NATS_URL === undefined
      ? null
      : new IngestBus({
          url: config.SPILLWAY_NATS_URL.reveal(),
          prefix: config.SPILLWAY_BUS_PREFIX,
          deployment: config.SPILLWAY_DEPLOYMENT,
          partitions: config.SPILLWAY_PARTITIONS,
          log,
          tail,
          ring,
          calls: {
            attempt: (sent) => attempts.attempt(sent),
            launch: (sent) => launches.launch(sent),
            observation: (sent) => observations.observe(sent),
          },
          logger,
          reports: busReports(logger, metrics, systemClock),
        });
  const stopRetention = every(
    RETENTION_EVERY_MS,
    () => log.sealed.dropExpired(RETENTION_ROWS_MAX),
    (error) => logger.warn('retention_failed', {}, error),
  );

  const server = await createHttpServer({
    authenticator: authenticationOff,
    callsPerSecond: config.SPILLWAY_CALLS_PER_SECOND,
    hosts: ownHosts(config),
  });
  addHealthRoutes(server, logChecks(log), metrics);
  const app = await NestFactory.create<NestFastifyApplication>(
    IngestModule.with({
      attempts,
      launches,
      observations,
      results,
      health: new LogHealth(() => logServes(log)),
    }),
    new FastifyAdapter(server),
    { bodyParser: false, logger: frameworkLogger(logger) },
  );
  app.useGlobalFilters(new ProblemFilter(logger));
  serveApiDocs(app);
  await app.listen(config.SPILLWAY_PORT, config.SPILLWAY_HOST);
  if (config.SPILLWAY_END_WITH_STDIN === 'yes') endWithStdin();
  closeOnSignal({
    logger,
    deadlineMs: CLOSE_DEADLINE_MS,
    closers: [
      {
        name: 'deadlines',
        close: () => {
          waiters.hurry();
          log.endWithin(CUT_AFTER_MS);
          busSide?.endWithin(CUT_AFTER_MS);
        },
      },
      together({ name: 'http', close: () => app.close() }, { name: 'bus', close: () => busSide?.stop() }),
      { name: 'retention', close: stopRetention },
      { name: 'waiters', close: () => waiters.stop() },
      { name: 'clock', close: stopClock },
      { name: 'tail', close: () => tail.stop() },
      { name: 'log', close: () => log.close() },
    ],
  });
  logger.info('listening', { port: portOf(server) });
}

await runApp('ingest', start, isLogUnusable);
