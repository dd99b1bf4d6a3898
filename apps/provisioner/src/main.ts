import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { streamDigest } from '#domain/intent/question-context';
import { WAIT_REASONS } from '#domain/provision/step';
import { isLogUnusable } from '#event-log/assert-usable';
import { StreamFinder } from '#event-log/find-stream';
import { openAppLog } from '#event-log/open-app-log';
import { LogTail } from '#messaging/log-tail';
import { LogTransport, RethrowFilter } from '#messaging/log-transport';
import { atMost } from '#messaging/slots';
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
import { configuredLanes } from './lanes/configured-lanes.ts';
import { SealedTexts } from './launch-texts.ts';
import type { KillPoint } from './parts.ts';
import { ProvisionerModule } from './provisioner.module.ts';
import { Provisioner } from './provisioner.ts';
import { ProvisionerBus } from './provisioner-bus.ts';
import { ProvisionerConfig } from './provisioner-config.ts';
import { consumerReports, provisionerReports } from './provisioner-reports.ts';
import { observationPublisher } from './publish-observation.ts';
import { TerminalRoom } from './terminal-room.ts';
import { Watcher } from './watcher.ts';

const FAILURE_RETENTION_DAYS = 30;
const LAG_EVERY_MS = 1_000;
const CALLS_PER_SECOND = 1_000;
/** Little beside the seconds that a cloud takes for anything. */
const TAIL_GAP_MS = 50;
/** For runs to reach the end of their step when the process ends. */
const RUNS_ON_CLOSE_MS = 5_000;

async function start(): Promise<void> {
  const config = loadConfig(ProvisionerConfig);
  const { logger, metrics, ring, sealing, keys } = appParts('provisioner', config);

  const log = await untilReachable(
    () =>
      openAppLog({
        app: 'provisioner',
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

  const streams = new StreamFinder(ring, log);
  const lanes = configuredLanes(config.SPILLWAY_LANES);
  const terminalRoom = new TerminalRoom({
    limits: {
      createsPerHour: config.SPILLWAY_TERMINAL_CREATES_PER_HOUR ?? null,
      billingMax: config.SPILLWAY_TERMINAL_BILLING_MAX ?? null,
    },
    log,
    monotonicMs: () => systemClock.monotonicMs(),
  });
  if (config.SPILLWAY_OBSERVE_ONLY === 'yes') logger.warn('observe_only');
  if (config.SPILLWAY_TERMINAL_CREATES_PER_HOUR === undefined) logger.warn('terminal_creates_without_limit');
  if (config.SPILLWAY_TERMINAL_BILLING_MAX === undefined) logger.warn('terminal_billing_without_limit');
  const sealer = new Sealer({ store: log.sealed, ...sealing });
  tail.subscribe((row) => sealer.observe(row));
  const texts = new SealedTexts({
    sealer,
    streams,
    clock,
    retentionDays: FAILURE_RETENTION_DAYS,
  });
  const provisioner = new Provisioner({
    log,
    lanes,
    clock,
    ids: { intentId: randomId, commandId: randomId },
    holder: `provisioner-${randomId()}`,
    texts,
    question: async (stream) => {
      const { key, ref } = await streams.ofStream(stream);
      return { ref, tokenLifeS: config.SPILLWAY_TOKEN_LIFE_S, digestOf: streamDigest(key) };
    },
    kill: killedAt(config.SPILLWAY_KILL_AT, config.SPILLWAY_KILL_SIGNAL),
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    terminalRoom,
    settings: {
      deployment: config.SPILLWAY_DEPLOYMENT,
      observeOnly: config.SPILLWAY_OBSERVE_ONLY === 'yes',
      looksFirst: true,
      runsAtOnceMax: config.SPILLWAY_RUNS_AT_ONCE,
    },
    report: provisionerReports(logger, metrics),
  });
  const busSide =
    config.SPILLWAY_NATS_URL === undefined
      ? null
      : new ProvisionerBus({
          url: config.SPILLWAY_NATS_URL.reveal(),
          prefix: config.SPILLWAY_BUS_PREFIX,
          deployment: config.SPILLWAY_DEPLOYMENT,
          partitions: config.SPILLWAY_PARTITIONS,
          log,
          reports: busReports(logger, metrics, systemClock),
        });
  const transport = new LogTransport({
    consumer: 'provisioner',
    partitions: config.SPILLWAY_PARTITIONS,
    log,
    tail,
    ...(busSide === null ? {} : { feed: busSide.feed }),
    holder: randomId(),
    forget: () => undefined,
    report: consumerReports(logger, metrics),
  });

  const passFailed = (error: unknown) => logger.warn('pass_failed', {}, error);
  const stopPasses = every(config.SPILLWAY_PASS_EVERY_S * 1000, () => provisioner.startPass(), passFailed);
  const stopRetries = every(
    config.SPILLWAY_RETRY_EVERY_S * 1000,
    () => provisioner.startRetryPass(),
    passFailed,
  );

  const polls = metrics.counter(
    'spillway_watch_failures_total',
    'Polls of instances that gave no reading.',
    {},
  );
  const watcher = new Watcher({
    allocations: log.allocations,
    lanes,
    clock,
    name: (stream) => texts.name(stream),
    publish: observationPublisher(config.SPILLWAY_INGEST_URL ?? ''),
    onFailure: (lane, why, error) => {
      polls.add({});
      logger.warn('poll_failed', { lane, reason: why }, error);
    },
  });
  const stopWatching =
    config.SPILLWAY_INGEST_URL === undefined
      ? async () => undefined
      : every(config.SPILLWAY_WATCH_EVERY_S * 1000, () => watcher.round(), passFailed);

  const lag = metrics.gauge('spillway_consumer_lag_ms', 'Age of the oldest event not dealt with.', {});
  const waits = metrics.gauge(
    'spillway_waiting_allocations',
    'Allocations with work that wait, by what they wait for.',
    { reason: WAIT_REASONS },
  );
  const stopLag = every(
    LAG_EVERY_MS,
    async () => {
      lag.set({}, transport.consumer?.lagMs() ?? 0);
      for (const { reason, count } of provisioner.waits) waits.set({ reason }, count);
    },
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
    ProvisionerModule.with(provisioner),
    new FastifyAdapter(server),
    { bodyParser: false, logger: frameworkLogger(logger) },
  );
  app.useGlobalFilters(new RethrowFilter());
  app.connectMicroservice({ strategy: transport }, { inheritAppConfig: true });
  // A restored backup shows by machines that the log does not know: they are looked for before the first event.
  await provisioner.startPass().catch(passFailed);
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
      together(
        { name: 'app', close: () => app.close() },
        { name: 'bus', close: () => busSide?.stop() },
        // A call of a provider is never cut to end sooner, nor waited for without end. What is under way then was
        // announced in the log before it was sent: the next worker looks, as after any death of this one.
        {
          name: 'runs',
          close: () =>
            atMost(
              Promise.all([provisioner.stop(), stopPasses(), stopRetries(), stopWatching()]),
              RUNS_ON_CLOSE_MS,
            ),
        },
      ),
      { name: 'lag', close: stopLag },
      { name: 'clock', close: stopClock },
      { name: 'tail', close: () => tail.stop() },
      { name: 'log', close: () => log.close() },
    ],
  });
  logger.info('listening', { port: portOf(server) });
}

/** In production reaching a point does nothing. The crash tests end the process as hard as it can be ended. */
function killedAt(
  point: KillPoint | undefined,
  signal: 'SIGKILL' | 'SIGSTOP',
): (reached: KillPoint) => Promise<void> {
  return async (reached) => {
    if (reached === point) process.kill(process.pid, signal);
  };
}

await runApp('provisioner', start, isLogUnusable);
