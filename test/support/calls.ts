import { at } from '../conformance/fallback-expect.ts';

/** What came back for one call; `json` is undefined when the body is none. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

export interface RawCall {
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** Exactly these; without a content type nothing is said of one. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type Body = Readonly<Record<string, unknown>>;

/** The calls of fallback 1 and failover 2 to one origin, or to one app without its origin. */
export interface Calls {
  attempt(body: Body, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  launch(body: Body, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  observation(body: Body, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  consent(body: Body, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  get(path: string): Promise<Reply>;
  send(path: string, call: RawCall): Promise<Reply>;
}

export const API = '/api/agent/gpu-allocation';
const CALL_DEADLINE_MS = 30_000;
const JSON_TYPE = { 'content-type': 'application/json' } as const;

export function callsTo(origin: () => string): Calls {
  const send = (path: string, { body, headers = JSON_TYPE }: RawCall) => {
    // A text as it is would be given a content type; bytes are not.
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
    return replyTo(new URL(path, origin()), { method: 'POST', body: bytes, headers });
  };
  const json = (path: string, body: Body, headers: Readonly<Record<string, string>> = {}) =>
    send(path, { body: JSON.stringify(body), headers: { ...JSON_TYPE, ...headers } });
  return {
    attempt: (body, headers) => json(`${API}/attempt`, body, headers),
    launch: (body, headers) => json(`${API}/launch`, body, headers),
    observation: (body, headers) => json(`${API}/observation`, body, headers),
    consent: (body, headers) => json(`${API}/consent`, body, headers),
    get: (path) => replyTo(new URL(path, origin()), { method: 'GET' }),
    send,
  };
}

/** The token of an answer that prompts. Throws, with what came instead, where there is none. */
export function tokenOf(reply: Reply): string {
  return textAt(reply, 'confirm_token');
}

/** A text of the answer at a dotted path. */
export function textAt(reply: Reply, path: string): string {
  const found = at(reply.json, path);
  if (typeof found !== 'string') throw new Error(`no ${path} in ${reply.status} ${reply.text}`);
  return found;
}

/** The codes of an answer's explanation. */
export function codesOf(reply: Reply): readonly unknown[] {
  const found = at(reply.json, 'decision.explanation');
  if (!Array.isArray(found)) throw new Error(`no explanation in ${reply.status} ${reply.text}`);
  return found.map((line: unknown) => at(line, 'code'));
}

/** `pointer code` of each bad member that a 400 names, sorted. */
export function badMembersOf(reply: Reply): readonly string[] {
  const found = at(reply.json, 'errors');
  if (!Array.isArray(found)) return [];
  return found.map((row: unknown) => `${String(at(row, 'pointer'))} ${String(at(row, 'code'))}`).sort();
}

async function replyTo(url: URL, init: RequestInit): Promise<Reply> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(CALL_DEADLINE_MS) });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
