import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';

export interface Reply {
  readonly status?: number;
  readonly body: unknown;
}
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly contentType: string | undefined;
  readonly text: string;
}
export type Behaviour = (request: Received, place: number) => Reply | Promise<Reply>;

const open: (() => Promise<void>)[] = [];

/** Stops every service that was started: for `afterEach`. */
export async function stopServing(): Promise<void> {
  await Promise.all(open.splice(0).map((close) => close()));
}

/** A service that behaves as told, and remembers what it was sent. */
export async function serve(behave: Behaviour) {
  const received: Received[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const { method = '', url = '', headers } = request;
      const call = {
        method,
        url,
        contentType: headers['content-type'],
        text: Buffer.concat(chunks).toString(),
      };
      received.push(call);
      const { status = 200, body } = await behave(call, received.length - 1);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return { baseUrl: `http://127.0.0.1:${port}`, received };
}
