import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, expect, test } from 'vitest';
import { authenticationOff } from './auth.ts';
import { createHttpServer, portOf } from './http-server.ts';
import { CLOSE_DEADLINE_MS } from './shutdown.ts';

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

/** A server that answers `/slow` when it is told to. */
async function answering() {
  const server = await createHttpServer({ authenticator: authenticationOff, callsPerSecond: 1_000 });
  const signals = new EventEmitter();
  const asked = once(signals, 'asked');
  server.get('/slow', async () => {
    const answered = once(signals, 'answer');
    signals.emit('asked');
    await answered;
    return 'done';
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  return {
    server,
    url: `http://127.0.0.1:${portOf(server)}/slow`,
    asked,
    answer: () => signals.emit('answer'),
  };
}

test('closing lets a request that has begun be answered', async () => {
  const { server, url, asked, answer } = await answering();
  const reply = fetch(url);
  await asked;
  const closed = server.close();
  answer();
  expect(await (await reply).text()).toBe('done');
  await closed;
});

test('closing does not wait for a connection that is kept alive after its answer', async () => {
  const { server, asked, answer } = await answering();
  const socket = await connectedTo(server);
  const text: string[] = [];
  socket.setEncoding('utf8').on('data', (part: string) => text.push(part));
  socket.write('GET /slow HTTP/1.1\r\nhost: localhost\r\nconnection: keep-alive\r\n\r\n');
  await asked;
  const ended = once(socket, 'close');
  const closed = server.close();
  answer();
  await ended;
  await closed;
  expect(text.join('')).toMatch(/^HTTP\/1\.1 200 OK.*done$/s);
});

test('closing cuts a request that does not arrive, after a while', async () => {
  const server = await listening();
  const arrived = once(server.server, 'connection').then(([taken]) => once(taken, 'data'));
  const socket = await connectedTo(server);
  const ended = once(socket.resume(), 'close');
  socket.write('POST /api/agent/x HTTP/1.1\r\nhost: localhost\r\n');
  await arrived;
  const startedMs = performance.now();
  await server.close();
  await ended;
  expect(performance.now() - startedMs).toBeLessThan(CLOSE_DEADLINE_MS);
});
