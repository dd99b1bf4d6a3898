import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';

/** A notice as it came: its exact text, and what stands in it. */
export interface TakenNotice {
  readonly path: string;
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly type: string;
  readonly data: Readonly<Record<string, string>>;
  /** How it was answered; null = not at all. */
  readonly status: number | null;
}

/** `hang` answers nothing; `cut` closes the connection; `flood` is 200 with a body without end; a number is the status. */
export type Behaviour =
  | number
  | 'hang'
  | 'cut'
  | 'flood'
  | { readonly status: number; readonly headers: Readonly<Record<string, string>> };

export interface WebhookReceiver {
  readonly url: string;
  /** Everything that came, in order of arrival. */
  readonly taken: readonly TakenNotice[];
  /** How notices are answered from now on, in whole or by notice. */
  behave(behaviour: Behaviour | ((notice: Omit<TakenNotice, 'status'>) => Behaviour)): void;
  close(): Promise<void>;
}

const Body = z.strictObject({
  type: z.string(),
  timestamp: z.iso.datetime(),
  data: z.record(z.string(), z.string()),
});

/** A receiver of notices, on a free port. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const taken: TakenNotice[] = [];
  let behaviour: (notice: Omit<TakenNotice, 'status'>) => Behaviour = () => 204;
  const server = createServer((request, response) => {
    void textOf(request).then((text) => {
      const { type, data } = Body.parse(JSON.parse(text));
      const headers = headersOf(request);
      const notice = { path: request.url ?? '', id: headers['webhook-id'] ?? '', headers, text, type, data };
      const answer = behaviour(notice);
      taken.push({ ...notice, status: statusOf(answer) });
      respond(response, answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    taken,
    behave: (next) => {
      behaviour = typeof next === 'function' ? next : () => next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Whether the public library takes the signature under a key. */
export function isSignedBy(notice: TakenNotice, key: string): boolean {
  try {
    new Webhook(key).verify(notice.text, { ...notice.headers });
    return true;
  } catch {
    return false;
  }
}

/** A signing key of its own for a test. */
export function webhookKey(name: string): string {
  return `whsec_${Buffer.from(name.padEnd(32, '.')).toString('base64')}`;
}

function statusOf(answer: Behaviour): number | null {
  if (typeof answer === 'number') return answer;
  if (answer === 'flood') return 200;
  return typeof answer === 'object' ? answer.status : null;
}

function respond(response: ServerResponse, answer: Behaviour): void {
  if (answer === 'hang') return;
  if (answer === 'cut') {
    response.destroy();
    return;
  }
  if (answer === 'flood') {
    response.writeHead(200);
    flood(response);
    return;
  }
  const { status, headers } = typeof answer === 'number' ? { status: answer, headers: {} } : answer;
  response.writeHead(status, { ...headers });
  response.end();
}

function flood(response: ServerResponse): void {
  if (response.write(Buffer.alloc(64 * 1024))) setImmediate(() => flood(response));
  else response.once('drain', () => flood(response));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

function headersOf(request: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : [],
    ),
  );
}
