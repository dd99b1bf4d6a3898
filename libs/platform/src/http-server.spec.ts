import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, expect, test } from 'vitest';
import { authenticationOff } from './auth.ts';
import { createHttpServer, portOf } from './http-server.ts';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A connection that has reached the server, and no more. */
async function connectedTo(server: FastifyInstance): Promise<Socket> {
  const taken = once(server.server, 'connection');
  const socket = connect(portOf(server), '127.0.0.1');
  sockets.push(socket);
  await taken;
  return socket;
}

async function listening(): Promise<FastifyInstance> {
  const server = await createHttpServer({ authenticator: authenticationOff, callsPerSecond: 1_000 });
  await server.listen({ host: '127.0.0.1', port: 0 });
  return server;
}

test('closing does not wait for a connection that never carried a request', async () => {
  const server = await listening();
  const socket = await connectedTo(server);
  const ended = once(socket, 'close');
  socket.resume();
  // Waiting for it would take until the server's own bound for a request: beyond the bound of this test.
  await server.close();
  await ended;
});

test('closing lets a request that has begun be answered', async () => {
  const server = await createHttpServer({ authenticator: authenticationOff, callsPerSecond: 1_000 });
  let answer = () => {};
  const asked = new Promise<void>((isAsked) => {
    server.get('/slow', async () => {
      isAsked();
      await new Promise<void>((isAnswered) => {
        answer = isAnswered;
      });
      return 'done';
    });
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  const reply = fetch(`http://127.0.0.1:${portOf(server)}/slow`);
  await asked;
  const closed = server.close();
  answer();
  expect(await (await reply).text()).toBe('done');
  await closed;
});
