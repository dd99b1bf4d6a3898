import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { keyRing } from '#domain/key-ring';
import { assertKeys } from '#event-log/assert-keys';
import { isLogUnusable } from '#event-log/assert-usable';
import { withRole } from '#event-log/connect';
import { StreamFinder } from '#event-log/find-stream';
import { PostgresLog } from '#event-log/postgres-log';
import { logAccess, openAccessLog } from '#platform/access-log';
import { authenticationOff } from '#platform/auth';
import { systemClock } from '#platform/clock';
import { MAX_SINCE_LOG_READ_MS } from '#platform/health';
import { addHealthRoutes } from '#platform/health-routes';
import { createHttpServer, portOf } from '#platform/http-server';
import { loadConfig } from '#platform/load-config';
import { createLogger, frameworkLogger } from '#platform/logger';
import { Metrics } from '#platform/metrics';
import { Sealer } from '#platform/sealer';
import { CLOSE_DEADLINE_MS, closeOnSignal, endWithStdin } from '#platform/shutdown';
import { LOG_WAIT, runApp, untilReachable } from '#platform/start-up';
import { AuditModule } from './audit.module.ts';
import { AuditConfig } from './audit-config.ts';
import { measureCalls } from './call-metrics.ts';
import { ProblemFilter } from './problem.filter.ts';
import { AuditCalls } from './views/audit-calls.ts';

const READ_CONNECTIONS = 6;

/** The reading part of the audit as an app: it can reach the log under a role that may only read, and no bus. */
async function start(): Promise<void> {
  const config = loadConfig(AuditConfig);
  const deployment = config.SPILLWAY_DEPLOYMENT;
  const logger = createLogger({ app: 'audit', deployment, level: config.SPILLWAY_LOG_LEVEL });
  const metrics = new Metrics('audit');
  metrics.includeProcess();
  const ring = keyRing(config.SPILLWAY_KEY_RING.reveal());
  const wrapKeys = config.SPILLWAY_WRAP_KEYS.reveal();

  const log = await untilReachable(
    () =>
      PostgresLog.open({
        url: withRole(config.SPILLWAY_DATABASE_URL.reveal(), 'spillway_audit'),
        applicationName: 'spillway-audit',
        now: () => systemClock.monotonicMs(),
        readConnections: READ_CONNECTIONS,
        onFault: (fault) => logger.warn('log_fault', {}, fault),
      }),
    { ...LOG_WAIT, logger, isFinal: isLogUnusable },
  );
  await assertKeys(log.sealed, {
    ring: ring.newestFirst.map(({ id }) => id),
    wrapping: wrapKeys.map(({ id }) => id),
  });
  const calls = new AuditCalls({
    log,
    streams: new StreamFinder(ring, log),
    unsealer: new Sealer({ store: log.sealed, wrapKeys }),
    clock: systemClock,
  });
  const access = openAccessLog({
    app: 'audit',
    deployment,
    file: config.SPILLWAY_ACCESS_LOG_FILE,
    onFault: (error) => logger.warn('access_log_failed', {}, error),
  });
  const logReachable = () => log.lastReadAgeMs() <= MAX_SINCE_LOG_READ_MS;

  const server = await createHttpServer({
    authenticator: authenticationOff,
    callsPerSecond: config.SPILLWAY_CALLS_PER_SECOND,
  });
  logAccess(server, '/api/audit', access);
  measureCalls(server, metrics);
  addHealthRoutes(server, [{ name: 'log', passes: logReachable }], metrics);
  const app = await NestFactory.create<NestFastifyApplication>(
    AuditModule.with(calls),
    new FastifyAdapter(server),
    { bodyParser: false, logger: frameworkLogger(logger) },
  );
  app.useGlobalFilters(new ProblemFilter(logger));
  await app.listen(config.SPILLWAY_PORT, config.SPILLWAY_HOST);
  if (config.SPILLWAY_END_WITH_STDIN === 'yes') endWithStdin();
  closeOnSignal({
    logger,
    deadlineMs: CLOSE_DEADLINE_MS,
    closers: [
      { name: 'http', close: () => app.close() },
      { name: 'access', close: () => access.close() },
      { name: 'log', close: () => log.close() },
    ],
  });
  logger.info('listening', { port: portOf(server) });
}

await runApp('audit', start, isLogUnusable);
