import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { LaneCall, LaneFailure, Workload } from '#domain/provision/lane';
import type { Secret } from '#platform/secret';
import type { HttpExchange, HttpReply } from './exchange.ts';
import { answeredFailure, type CallSite, unansweredFailure } from './failure.ts';
import { kindOfStatus } from './status-map.ts';

/*
 * The agent contract. The image of a pod on a terminal lane starts a small HTTP server, which is how Spillway
 * prepares the pod and starts the workload on it (failover 9.1, steps 8 to 10). It listens on the port that the
 * environment names and takes requests only with the token that the environment names:
 *
 *   SPILLWAY_AGENT_PORT    the port, published by the provider
 *   SPILLWAY_AGENT_TOKEN   every request carries it as `Authorization: Bearer ...`; anything else is answered 401
 *   SPILLWAY_INTENT        the one intent that this pod was made for
 *
 *   GET  /spillway/status     -> 200 status
 *   POST /spillway/bootstrap  -> 200 status   begins the bootstrap, or says how far it is; a repeat begins nothing
 *   POST /spillway/start      -> 200 status   {"intent", "workload"}: starts the workload in the background
 *
 *   status = {"intent": text, "bootstrap": "not_begun" | "begun" | "failed" | "complete",
 *             "workload": "none" | "running" | "finished", "result": "done" | "failed" | null,
 *             "log_age_s": seconds since the workload last wrote something, or null}
 *
 * A start is guarded on the pod: before it starts anything the agent writes the intent down where a restart of
 * its container finds it, and of a second start with the same intent it only answers the status. It answers 409
 * to another intent than its own or when the bootstrap is not complete, 422 when the workload cannot be started;
 * in all these cases nothing was started. Any other answer, and none, leaves open whether it was.
 * `workload` has the members `command`, `arguments`, `branch`, `env`, `outputs`; absent ones are null.
 */

/** Where the agent of one pod is, and the token it takes. */
export interface AgentAddress {
  readonly url: string;
  readonly token: string;
}

const Status = z.object({
  intent: z.string(),
  bootstrap: z.enum(['not_begun', 'begun', 'failed', 'complete']),
  workload: z.enum(['none', 'running', 'finished']),
  result: z.enum(['done', 'failed']).nullish().default(null),
  log_age_s: z.number().nonnegative().nullish().default(null),
});
/** What an agent says of its pod. */
export type AgentStatus = z.output<typeof Status>;

export type AgentReply =
  | { readonly kind: 'ok'; readonly status: AgentStatus }
  | { readonly kind: 'failed'; readonly failure: LaneFailure };

/** Speaks to the agents of pods. No call rejects. */
export interface PodAgent {
  status(at: AgentAddress): Promise<AgentReply>;
  bootstrap(at: AgentAddress): Promise<AgentReply>;
  /** A failure of kind `rejected` means: positively not started. */
  start(at: AgentAddress, intent: string, workload: Workload): Promise<AgentReply>;
}

/** The private port that the agents listen on. */
export const AGENT_PORT = 8_799;
const AGENT_DEADLINE_MS = 10_000;

/** The token of one intent's pod: it opens no other pod, and nobody has to store it. */
export function agentToken(key: Secret<Uint8Array>, intent: string): string {
  return createHmac('sha256', key.reveal()).update(`spillway/v1/agent\n${intent}`).digest('base64url');
}

/** Agents asked over HTTP. */
export function httpPodAgent(options: {
  readonly provider: string;
  readonly exchange: HttpExchange;
  readonly deadlineMs?: number;
}): PodAgent {
  const { provider, exchange, deadlineMs = AGENT_DEADLINE_MS } = options;
  const ask = async (
    at: AgentAddress,
    call: LaneCall,
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
  ): Promise<AgentReply> => {
    const reply = await exchange({
      method,
      url: `${at.url}${path}`,
      headers: { authorization: `Bearer ${at.token}`, accept: 'application/json' },
      ...(body === undefined ? {} : { body }),
      deadlineMs,
    });
    return replyOf({ provider, call, secrets: [at.token] }, reply);
  };
  return {
    status: (at) => ask(at, 'probe', 'GET', '/spillway/status'),
    bootstrap: (at) => ask(at, 'bootstrap', 'POST', '/spillway/bootstrap', {}),
    start: (at, intent, { command, arguments: list, branch, env, outputs }) =>
      ask(at, 'dispatch', 'POST', '/spillway/start', {
        intent,
        workload: { command, arguments: list, branch, env, outputs },
      }),
  };
}

const Refusal = z.object({ error: z.string().max(64) });
/** Statuses by which an agent says that it began nothing. */
const BEGAN_NOTHING: ReadonlySet<number> = new Set([409, 422]);

function replyOf(site: CallSite, reply: HttpReply): AgentReply {
  if (reply.kind === 'unanswered') return { kind: 'failed', failure: unansweredFailure(site, reply) };
  const status = Status.safeParse(reply.json);
  if (reply.status === 200 && status.success) return { kind: 'ok', status: status.data };

  const refusal = Refusal.safeParse(reply.json);
  const readable = refusal.success && reply.status >= 400 ? 'readable' : 'unreadable';
  const began = readable === 'readable' && BEGAN_NOTHING.has(reply.status);
  // A proxy before the pod answers 404 for a pod whose port is not open yet: of an agent that is no absence.
  const kind = began
    ? 'rejected'
    : reply.status === 404
      ? 'unavailable'
      : kindOfStatus(site.call, reply.status, readable);
  const verdict = { kind, code: refusal.data?.error ?? null, codeIsKnown: false };
  return { kind: 'failed', failure: answeredFailure(site, reply, verdict) };
}
