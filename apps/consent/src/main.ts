import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { isLogUnusable } from '#event-log/assert-usable';
import { StreamFinder } from '#event-log/find-stream';
import { openAppLog } from '#event-log/open-app-log';
import { PlacementStates } from '#event-log/placement-states';
import { LogTail } from '#messaging/log-tail';
import { appParts } from '#platform/app-parts';
import { authenticationOff } from '#platform/auth';
import { busReports } from '#platform/bus-reports';
import { systemClock } from '#platform/clock';
import { addHealthRoutes } from '#platform/health-routes';
import { createHttpServer, portOf } from '#platform/http-server';
import { loadConfig } from '#platform/load-config';
import { logChecks } from '#platform/log-checks';
import { frameworkLogger } from '#platform/logger';
import { receiversOf } from '#platform/notice-variables';
import { ownHosts } from '#platform/own-hosts';
import { Sealer } from '#platform/sealer';
import { CLOSE_DEADLINE_MS, CUT_AFTER_MS, closeOnSignal, endWithStdin, together } from '#platform/shutdown';
import { LOG_WAIT, runApp, untilReachable } from '#platform/start-up';
import { keptStoreClock } from '#platform/store-clock';
import { tailReports } from '#platform/tail-reports';
import { ConsentModule } from './consent.module.ts';
import { ConsentAnswers } from './consent-answers.ts';
import { ConsentBus } from './consent-bus.ts';
import { ConsentCalls } from './consent-calls.ts';
import { ConsentConfig } from './consent-config.ts';
import { Notices } from './notices/notices.ts';
import { guardAnswers, servePage } from './page-files.ts';
import { ProblemFilter } from './problem.filter.ts';
import { pageParts } from './prompts/page-parts.ts';

const CACHED_PLACEMENTS_MAX = 1_000;
/** A page that shows a question a blink later is as good. */
const TAIL_GAP_MS = 50;

async function start(): Promise<void> {
  const config = loadConfig(ConsentConfig);
  const receivers = receiversOf(config);
  const { logger, metrics, ring, sealing, keys } = appParts('consent', config);

  const log = await untilReachable(
    () =>
      openAppLog({
        app: 'consent',
        role: 'spillway_app',
        keys,
        url: config.SPILLWAY_DATABASE_URL.reveal(),
        now: () => systemClock.monotonicMs(),
        onFault: (fault) => logger.warn('log_fault', {}, fault),
      }),
    { ...LOG_WAIT, logger, isFinal: isLogUnusable },
  );
  const tail = new LogTail({ log, gapMs: TAIL_GAP_MS, ...tailReports(logger) });
  await tail.start();
  const { clock, stop: stopClock } = await keptStoreClock(log.leases, systemClock, (error) =>
    logger.warn('clock_not_read', {}, error),
  );

  const deployment = config.SPILLWAY_DEPLOYMENT;
  const streams = new StreamFinder(ring, log);
  const placements = new PlacementStates(log, CACHED_PLACEMENTS_MAX);
  const answers = new ConsentAnswers({ deployment, ring, streams, placements, log, clock });
  const calls = new ConsentCalls(answers);
  const page = pageParts({
    deployment,
    log,
    tail,
    streams,
    placements,
    answers,
    sealer: new Sealer({ store: log.sealed, ...sealing }),
    tokenLifeS: config.SPILLWAY_TOKEN_LIFE_S,
    clock,
    logger,
    metrics,
  });
  const busSide =
    config.SPILLWAY_NATS_URL === undefined
      ? null
      : new ConsentBus({
          url: config.SPILLWAY_NATS_URL.reveal(),
          prefix: config.SPILLWAY_BUS_PREFIX,
          deployment: config.SPILLWAY_DEPLOYMENT,
          partitions: config.SPILLWAY_PARTITIONS,
          log,
          ring,
          calls,
          logger,
          reports: busReports(logger, metrics, systemClock),
        });
  const notices = new Notices({ log, receivers, config, clock: systemClock, logger, metrics });

  const server = await createHttpServer({
    authenticator: authenticationOff,
    callsPerSecond: config.SPILLWAY_CALLS_PER_SECOND,
    hosts: ownHosts(config),
  });
  guardAnswers(server);
  await servePage(server);
  addHealthRoutes(server, logChecks(log), metrics);
  const app = await NestFactory.create<NestFastifyApplication>(
    ConsentModule.with({ calls, ...page }),
    new FastifyAdapter(server),
    { bodyParser: false, logger: frameworkLogger(logger) },
  );
  app.useGlobalFilters(new ProblemFilter(logger));
  await notices.start();
  await app.listen(config.SPILLWAY_PORT, config.SPILLWAY_HOST);
  if (config.SPILLWAY_END_WITH_STDIN === 'yes') endWithStdin();
  closeOnSignal({
    logger,
    deadlineMs: CLOSE_DEADLINE_MS,
    closers: [
      {
        name: 'deadlines',
        close: () => {
          log.endWithin(CUT_AFTER_MS);
          busSide?.endWithin(CUT_AFTER_MS);
        },
      },
      { name: 'feed', close: () => page.feed.stop() },
      together({ name: 'http', close: () => app.close() }, { name: 'bus', close: () => busSide?.stop() }),
      { name: 'notices', close: () => notices.stop() },
      { name: 'clock', close: stopClock },
      { name: 'tail', close: () => tail.stop() },
      { name: 'log', close: () => log.close() },
    ],
  });
  logger.info('listening', { port: portOf(server) });
}

await runApp('consent', start, isLogUnusable);
