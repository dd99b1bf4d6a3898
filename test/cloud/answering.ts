import type { FastifyReply } from 'fastify';
import type { Cloud } from './cloud.ts';
import { type Answer, type CloudCall, type CloudLane, effectOf, type Step } from './scripts.ts';

/** What goes back over the wire. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One call of one provider, and how it is answered when nothing is scripted. */
export interface Call {
  readonly lane: CloudLane;
  readonly call: CloudCall;
  /** Does what the caller asks for. Takes the time at which it happens. */
  readonly act: (atMs: number) => HttpAnswer;
  /** What is answered when `ok` is said and nothing done. Without it a 200 with an empty object. */
  readonly pretend?: () => HttpAnswer;
  /** The provider's words for a refusal. */
  readonly refuse: (answer: Answer, step: Step) => HttpAnswer;
}

const GATEWAY_STATUS = 502;
const HTML =
  '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1>not found, no capacity</body></html>';

/** Counts a call, takes the next step of its script, lets it have its effect, and answers as the step says. */
export async function answerCall(cloud: Cloud, call: Call, reply: FastifyReply): Promise<void> {
  cloud.settle();
  cloud.ledger.countCall(call.lane, call.call);
  const step = cloud.scripts.next(call.lane, call.call);
  const effect = effectOf(step);
  if (effect === 'late') cloud.after(step.afterS, (atMs) => void call.act(atMs));
  const done = effect === 'done' ? call.act(cloud.nowMs()) : null;

  switch (step.answer) {
    case 'ok':
      return send(reply, done ?? call.pretend?.() ?? { status: 200, body: {} });
    case 'hang':
      // Until the caller gives up, or the stand-in closes.
      return void reply.hijack();
    case 'reset':
      reply.hijack();
      reply.raw.socket?.resetAndDestroy();
      return;
    case 'html':
      return sendText(reply, step.status ?? GATEWAY_STATUS, 'text/html', HTML);
    case 'garbage':
      return sendText(reply, step.status ?? done?.status ?? 200, 'application/json', '{"id": "half of');
    case 'wrong_shape':
      return send(reply, { status: step.status ?? done?.status ?? 200, body: { unexpected: [1] } });
    case 'status':
      return send(reply, { status: step.status ?? 500, body: step.body, headers: step.headers ?? {} });
    default:
      return send(reply, withHeaders(call.refuse(step.answer, step), step));
  }
}

function withHeaders(answer: HttpAnswer, step: Step): HttpAnswer {
  const retryAfter = step.retryAfterS === undefined ? {} : { 'retry-after': String(step.retryAfterS) };
  return { ...answer, headers: { ...answer.headers, ...retryAfter, ...step.headers } };
}

async function send(reply: FastifyReply, { status, body, headers }: HttpAnswer): Promise<void> {
  const answer = reply.status(status).headers({ ...headers });
  if (status === 204 || body === undefined) await answer.send();
  else if (typeof body === 'string') await answer.send(body);
  else {
    const type = headers?.['content-type'] ?? 'application/json';
    await answer.header('content-type', type).send(JSON.stringify(body));
  }
}

async function sendText(reply: FastifyReply, status: number, type: string, text: string): Promise<void> {
  await reply.status(status).header('content-type', type).send(text);
}
