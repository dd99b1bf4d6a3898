import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AllocationStates } from '#event-log/allocation-states';
import { isLogUnusable } from '#event-log/assert-usable';
import { StreamFinder } from '#event-log/find-stream';
import { openAppLog } from '#event-log/open-app-log';
import { PlacementStates } from '#event-log/placement-states';
import { LogTail } from '#messaging/log-tail';
import { LogTransport, RethrowFilter } from '#messaging/log-transport';
import { appParts } from '#platform/app-parts';
import { authenticationOff } from '#platform/auth';
import { busReports } from '#platform/bus-reports';
import { systemClock } from '#platform/clock';
import { every } from '#platform/every';
import { MAX_LAG_MS } from '#platform/health';
import { addHealthRoutes } from '#platform/health-routes';
import { createHttpServer, portOf } from '#platform/http-server';
import { randomId } from '#platform/ids';
import { loadConfig } from '#platform/load-config';
import { logChecks } from '#platform/log-checks';
import { frameworkLogger } from '#platform/logger';
import { ownHosts } from '#platform/own-hosts';
import { Sealer } from '#platform/sealer';
import { CLOSE_DEADLINE_MS, CUT_AFTER_MS, closeOnSignal, endWithStdin, together } from '#platform/shutdown';
import { LOG_WAIT, runApp, untilReachable } from '#platform/start-up';
import { keptStoreClock } from '#platform/store-clock';
import { tailReports } from '#platform/tail-reports';
import { AttemptDecisions } from './attempt-decisions.ts';
import { ClassifierModule } from './classifier.module.ts';
import { ClassifierBus } from './classifier-bus.ts';
import { ClassifierConfig } from './classifier-config.ts';
import { DecisionStates } from './decision-states.ts';
import { ObservationDecisions } from './observation-decisions.ts';
import { reportTo } from './worker-reports.ts';

const CACHED_STATES_MAX = 20_000;
const CACHED_PLACEMENTS_MAX = 10_000;
const LAG_EVERY_MS = 1_000;
const CALLS_PER_SECOND = 1_000;

async function start(): Promise<void> {
  const config = loadConfig(ClassifierConfig);
  const { logger, metrics, ring, sealing, keys } = appParts('classifier', config);

  const log = await untilReachable(
    () =>
      openAppLog({
        app: 'classifier',
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
  const states = new DecisionStates(
    new AllocationStates(log, CACHED_STATES_MAX),
    new PlacementStates(log, CACHED_PLACEMENTS_MAX),
  );
  // Facts of the provisioner are handled by nobody here, and count a version all the same.
  tail.subscribe((row) => states.observe(row));
  const attempts = new AttemptDecisions({
    states,
    sealer,
    clock,
    rules: {
      threshold: config.SPILLWAY_PROMPT_THRESHOLD,
      questionsPerDay: config.SPILLWAY_PROMPT_BUDGET,
      tokenLifeS: config.SPILLWAY_TOKEN_LIFE_S,
    },
  });
  const observations = new ObservationDecisions({
    states,
    marks: log.marks,
    streams: new StreamFinder(ring, log),
    clock,
    tokenLifeS: config.SPILLWAY_TOKEN_LIFE_S,
  });
  const busSide =
    config.SPILLWAY_NATS_URL === undefined
      ? null
      : new ClassifierBus({
          url: config.SPILLWAY_NATS_URL.reveal(),
          prefix: config.SPILLWAY_BUS_PREFIX,
          deployment: config.SPILLWAY_DEPLOYMENT,
          partitions: config.SPILLWAY_PARTITIONS,
          log,
          tail,
          logger,
          reports: busReports(logger, metrics, systemClock),
        });
  const transport = new LogTransport({
    consumer: 'classifier',
    partitions: config.SPILLWAY_PARTITIONS,
    log,
    tail,
    ...(busSide === null ? {} : { feed: busSide.feed }),
    holder: randomId(),
    forget: (stream) => states.forget(stream),
    report: reportTo(logger, metrics, 'classifier'),
  });

  const lag = metrics.gauge('spillway_consumer_lag_ms', 'Age of the oldest event not dealt with.', {});
  const stopLag = every(
    LAG_EVERY_MS,
    async () => lag.set({}, transport.consumer?.lagMs() ?? 0),
    () => undefined,
  );

  const server = await createHttpServer({
    authenticator: authenticationOff,
    callsPerSecond: CALLS_PER_SECOND,
    hosts: ownHosts(config),
  });
  addHealthRoutes(
    server,
    [
      ...logChecks(log),
      { name: 'lag', passes: () => (transport.consumer?.lagMs() ?? Number.POSITIVE_INFINITY) <= MAX_LAG_MS },
      { name: 'version', passes: () => transport.consumer?.halted !== true },
    ],
    metrics,
  );
  const app = await NestFactory.create<NestFastifyApplication>(
    ClassifierModule.with({ attempts, observations, states, sealer }),
    new FastifyAdapter(server),
    { bodyParser: false, logger: frameworkLogger(logger) },
  );
  app.useGlobalFilters(new RethrowFilter());
  app.connectMicroservice({ strategy: transport }, { inheritAppConfig: true });
  await app.startAllMicroservices();
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
      together({ name: 'app', close: () => app.close() }, { name: 'bus', close: () => busSide?.stop() }),
      { name: 'lag', close: stopLag },
      { name: 'clock', close: stopClock },
      { name: 'tail', close: () => tail.stop() },
      { name: 'log', close: () => log.close() },
    ],
  });
  logger.info('listening', { port: portOf(server) });
}

await runApp('classifier', start, isLogUnusable);
