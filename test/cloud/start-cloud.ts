import { type FastifyInstance, fastify } from 'fastify';
import { ZodError } from 'zod';
import { type Clock, systemClock } from '#platform/clock';
import { addAdminApi } from './admin-api.ts';
import { addAgents } from './agents.ts';
import { Cloud } from './cloud.ts';
import { CloudClient } from './cloud-client.ts';
import { addForeign } from './foreign.ts';
import { addGcpApi } from './gcp-api.ts';
import { Operations } from './gcp-operations.ts';
import { addKubernetesApi } from './kubernetes-api.ts';
import { addRunpodApi } from './runpod-api.ts';

export interface CloudServerOptions {
  /** A free one unless given. */
  readonly port?: number;
  readonly clock?: Clock;
  /** How long starts and bootstraps take, in seconds. */
  readonly delayS?: number;
}

/** A running stand-in. */
export interface RunningCloud {
  readonly url: string;
  /** Speaks to the admin routes over HTTP, as another process would. */
  readonly client: CloudClient;
  /** Cuts what is still open. */
  close(): Promise<void>;
}

const BODY_LIMIT_BYTES = 4 * 1024 * 1024;

/** Starts the stand-in cloud on 127.0.0.1. It remembers nothing beyond its own life. */
export async function startCloud(options: CloudServerOptions = {}): Promise<RunningCloud> {
  const cloud = new Cloud({ clock: options.clock ?? systemClock, delayS: options.delayS ?? 0 });
  const server = fastify({ logger: false, bodyLimit: BODY_LIMIT_BYTES, forceCloseConnections: true });
  server.setErrorHandler((error, _request, reply) => {
    if (error instanceof ZodError) return reply.status(400).send({ error: error.message });
    return reply.status(500).send({ error: String(error) });
  });
  addAdminApi(server, cloud, (order) => addForeign(cloud, order));
  const operations = new Operations();
  cloud.onPersonDeletes((instance, atMs) => operations.addForeignDelete(instance, atMs));
  addGcpApi(server, cloud, operations);
  addKubernetesApi(server, cloud);
  addRunpodApi(server, cloud, () => portOf(server));
  addAgents(server, cloud);
  await server.listen({ port: options.port ?? 0, host: '127.0.0.1' });
  const url = `http://127.0.0.1:${portOf(server)}`;
  return { url, client: new CloudClient(url), close: () => server.close() };
}

function portOf(server: FastifyInstance): number {
  const address = server.server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
