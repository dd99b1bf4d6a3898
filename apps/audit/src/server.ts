import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { isLogUnusable } from '#event-log/assert-usable';
import { StreamFinder } from '#event-log/find-stream';
import { openAppLog } from '#event-log/open-app-log';
import { logAccess, openAccessLog } from '#platform/access-log';
import { appParts } from '#platform/app-parts';
import { authenticationOff } from '#platform/auth';
import { systemClock } from '#platform/clock';
import { MAX_SINCE_LOG_READ_MS } from '#platform/health';
import { addHealthRoutes } from '#platform/health-routes';
import { createHttpServer, portOf } from '#platform/http-server';
import { loadConfig } from '#platform/load-config';
import { frameworkLogger } from '#platform/logger';
import { ownHosts } from '#platform/own-hosts';
import { Sealer } from '#platform/sealer';
import { CLOSE_DEADLINE_MS, CUT_AFTER_MS, closeOnSignal, endWithStdin } from '#platform/shutdown';
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
  const { logger, metrics, ring, sealing, keys } = appParts('audit', config);

  const log = await untilReachable(
    () =>
      openAppLog({
        app: 'audit',
        role: 'spillway_audit',
        keys,
        url: config.SPILLWAY_DATABASE_URL.reveal(),
        now: () => systemClock.monotonicMs(),
        readConnections: READ_CONNECTIONS,
        onFault: (fault) => logger.warn('log_fault', {}, fault),
      }),
    { ...LOG_WAIT, logger, isFinal: isLogUnusable },
  );
  const calls = new AuditCalls({
    log,
    streams: new StreamFinder(ring, log),
    unsealer: new Sealer({ store: log.sealed, ...sealing }),
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
    hosts: ownHosts(config),
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
      { name: 'deadlines', close: () => log.endWithin(CUT_AFTER_MS) },
      { name: 'http', close: () => app.close() },
      { name: 'access', close: () => access.close() },
      { name: 'log', close: () => log.close() },
    ],
  });
  logger.info('listening', { port: portOf(server) });
}

await runApp('audit', start, isLogUnusable);
