import { z } from 'zod';
import type {
  BootstrapAnswer,
  DispatchAnswer,
  Lane,
  LaneCall,
  LaneFacts,
  LaneFailure,
  ProbeReading,
  Read,
  TerminateAnswer,
} from '#domain/provision/lane';
import type { Secret } from '#platform/secret';
import type { HttpExchange, HttpReply } from '../exchange.ts';
import { answeredFailure, type CallSite, localFailure, unansweredFailure } from '../failure.ts';
import { type AgentAddress, type AgentStatus, agentToken, type PodAgent } from '../pod-agent.ts';
import { agentUrlOf } from './agent-address.ts';
import { createBody, gpuTypeOf, type PodDefaults, refusalOf } from './create-body.ts';
import { runpodVerdict } from './failure-table.ts';
import { instanceOf, isGone, type Pod, podOf, podsOf } from './pod.ts';
import { readingOf } from './pod-reading.ts';

/** Seconds to minutes were seen until a new pod is listed (providers 1). */
export const RUNPOD_GRACE_MS = 120_000;
export const RUNPOD_CREATE_DEADLINE_MS = 30_000;
const READ_DEADLINE_MS = 20_000;

export interface RunpodLaneOptions {
  /** The lane's name in plans. */
  readonly lane: string;
  /** Without the closing slash: https://api.runpod.io/v2. */
  readonly baseUrl: string;
  readonly apiKey: Secret<string>;
  /** Agent tokens are derived from it; at least 32 bytes. */
  readonly agentKey: Secret<Uint8Array>;
  /** See agent-address.ts. */
  readonly agentAddress: string;
  readonly defaults: PodDefaults;
  readonly exchange: HttpExchange;
  readonly agent: PodAgent;
  readonly listingGraceMs?: number;
  /** At most 30 s. */
  readonly createDeadlineMs?: number;
  readonly readDeadlineMs?: number;
}

const PROVIDER = 'runpod';
const Catalogue = z.object({ gpus: z.array(z.object({ id: z.string() })) });

/** Runpod by REST v2 (providers 3): persistent pods, found again by their name and env. */
export function runpodLane(options: RunpodLaneOptions): Lane {
  const { exchange, agent, defaults } = options;
  const apiKey = options.apiKey.reveal();
  const host = new URL(options.baseUrl).hostname;
  const createDeadlineMs = options.createDeadlineMs ?? RUNPOD_CREATE_DEADLINE_MS;
  const readDeadlineMs = options.readDeadlineMs ?? READ_DEADLINE_MS;
  const facts: LaneFacts = {
    lane: options.lane,
    provider: PROVIDER,
    kind: 'terminal',
    queueingPools: [],
    listingGraceMs: options.listingGraceMs ?? RUNPOD_GRACE_MS,
    createDeadlineMs,
    idempotentCreate: false,
    startsWorkload: 'by_dispatch',
  };

  const site = (call: LaneCall, ...secrets: readonly string[]): CallSite => ({
    provider: PROVIDER,
    call,
    secrets: [apiKey, ...secrets],
  });
  const send = (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: unknown,
    deadlineMs = readDeadlineMs,
  ): Promise<HttpReply> =>
    exchange({
      method,
      url: `${options.baseUrl}${path}`,
      headers: { authorization: `Bearer ${apiKey}`, accept: 'application/json' },
      ...(body === undefined ? {} : { body }),
      deadlineMs,
    });
  /** The failure of an answer that is none of the good ones. */
  const failureOf = (at: CallSite, reply: HttpReply): LaneFailure =>
    reply.kind === 'unanswered'
      ? unansweredFailure(at, reply)
      : answeredFailure(at, reply, runpodVerdict(at.call, reply.status, reply.json, host));

  const readPod = async (call: LaneCall, id: string): Promise<Read<Pod>> => {
    const at = site(call);
    const reply = await send('GET', `/pods/${encodeURIComponent(id)}`);
    const pod = reply.kind === 'answered' && reply.status === 200 ? podOf(reply.json) : null;
    // A reading is never a making: what it means that a pod cannot be read does not depend on who asks.
    if (pod === null) return failed({ ...failureOf({ ...at, call: 'get' }, reply), call });
    if (!isGone(pod)) return { kind: 'ok', value: pod };
    const verdict = { kind: 'not_found', code: 'TERMINATED', codeIsKnown: true } as const;
    return reply.kind === 'answered'
      ? failed(answeredFailure(at, reply, verdict))
      : failed(failureOf(at, reply));
  };
  /** Null = the pod has no public port yet, or carries no intent: a foreign pod is not spoken to. */
  const addressOf = (pod: Pod): AgentAddress | null => {
    const intent = pod.env?.SPILLWAY_INTENT;
    const url = agentUrlOf(options.agentAddress, pod);
    if (intent === undefined || url === null) return null;
    return { url, token: agentToken(options.agentKey, intent) };
  };

  return {
    facts,

    async probeLane(request) {
      const at = site('probe_lane');
      const refusal = refusalOf(request);
      if (refusal !== null) return failed(localFailure(at, 'rejected', refusal));
      const reply = await send('GET', '/catalog/gpus?include=AVAILABILITY&product=POD');
      const known =
        reply.kind === 'answered' && reply.status === 200 ? Catalogue.safeParse(reply.json) : null;
      if (known === null || !known.success) return failed(failureOf(at, reply));
      // Availability is a hint and no reservation: only that the type exists is positively known.
      if (known.data.gpus.some(({ id }) => id === gpuTypeOf(request))) return { kind: 'ok', value: 'open' };
      return failed({ ...localFailure(at, 'rejected', 'the catalogue has no such GPU type'), sent: true });
    },

    async create(mark, request) {
      const refusal = refusalOf(request);
      if (refusal !== null) return failed(localFailure(site('create'), 'rejected', refusal));
      const token = agentToken(options.agentKey, mark.intent);
      const reply = await send('POST', '/pods', createBody(mark, request, defaults, token), createDeadlineMs);
      const made = reply.kind === 'answered' && reply.status >= 200 && reply.status < 300;
      const pod = made ? podOf(reply.json) : null;
      if (pod !== null) return { kind: 'created', instance: instanceOf(pod) };
      return failed(failureOf(site('create', token), reply));
    },

    async list() {
      const reply = await send('GET', '/pods');
      const pods = reply.kind === 'answered' && reply.status === 200 ? podsOf(reply.json) : null;
      if (pods === null) return failed(failureOf(site('list'), reply));
      return { kind: 'ok', value: pods.filter((pod) => !isGone(pod)).map(instanceOf) };
    },

    async get(id) {
      const found = await readPod('get', id);
      if (found.kind === 'failed') return found;
      const pod = found.value;
      const address = addressOf(pod);
      const status = pod.status === 'RUNNING' && address !== null ? await agent.status(address) : null;
      const port = agentUrlOf(options.agentAddress, pod) !== null;
      return { kind: 'ok', value: readingOf(pod, port, status) };
    },

    // An id is given out only when the pod has been made; of deletes nothing is kept (providers 3).
    async operations() {
      return { kind: 'ok', value: { create: 'done', createError: null, delete: 'unknown' } };
    },

    async terminate(id): Promise<TerminateAnswer> {
      const at = site('terminate');
      const reply = await send('DELETE', `/pods/${encodeURIComponent(id)}`);
      const taken = reply.kind === 'answered' && reply.status >= 200 && reply.status < 300;
      if (!taken) {
        const failure = failureOf(at, reply);
        return failure.kind === 'not_found' ? { kind: 'gone', onlyNotFound: true } : failed(failure);
      }
      // Taken is not gone: only a later reading may say so (providers 1.8).
      const after = await readPod('terminate', id);
      const isAbsent = after.kind === 'failed' && after.failure.kind === 'not_found';
      return isAbsent ? { kind: 'gone' } : { kind: 'requested' };
    },

    async probe(id): Promise<Read<ProbeReading>> {
      const found = await readPod('probe', id);
      if (found.kind === 'failed') return found;
      const address = addressOf(found.value);
      if (address === null) return { kind: 'ok', value: UNKNOWN };
      const reply = await agent.status(address);
      return { kind: 'ok', value: reply.kind === 'ok' ? probeOf(reply.status, found.value) : UNKNOWN };
    },

    async bootstrap(id): Promise<BootstrapAnswer> {
      const found = await readPod('bootstrap', id);
      if (found.kind === 'failed') {
        // Whether the pod is well cannot be told from here: that is no reason to give it up.
        return found.failure.kind === 'not_found' ? found : { kind: 'pending' };
      }
      const ended = instanceOf(found.value).state === 'terminated';
      if (ended)
        return failed(localFailure(site('bootstrap'), 'rejected', `the pod is ${found.value.status}`));
      const address = addressOf(found.value);
      if (address === null) return { kind: 'pending' };
      const reply = await agent.bootstrap(address);
      if (reply.kind === 'failed') {
        return reply.failure.kind === 'auth' || reply.failure.kind === 'rejected'
          ? reply
          : { kind: 'pending' };
      }
      switch (reply.status.bootstrap) {
        case 'complete':
          return { kind: 'complete' };
        case 'failed':
          return failed(localFailure(site('bootstrap'), 'rejected', 'the bootstrap failed on the pod'));
        case 'begun':
        case 'not_begun':
          return { kind: 'pending' };
      }
    },

    async dispatch(id, intent, workload): Promise<DispatchAnswer> {
      const found = await readPod('dispatch', id);
      if (found.kind === 'failed') return { kind: 'unknown', failure: found.failure };
      const address = addressOf(found.value);
      if (address === null) {
        const failure = localFailure(site('dispatch'), 'unavailable', 'the pod has no public port');
        return { kind: 'unknown', failure };
      }
      const reply = await agent.start(address, intent, workload);
      if (reply.kind === 'ok') {
        if (reply.status.workload !== 'none') return { kind: 'started' };
        const failure = localFailure(site('dispatch'), 'outcome_unknown', 'accepted, and nothing runs yet');
        return { kind: 'unknown', failure: { ...failure, sent: true } };
      }
      return { kind: reply.failure.kind === 'rejected' ? 'refused' : 'unknown', failure: reply.failure };
    },
  };
}

const UNKNOWN: ProbeReading = { bootstrap: 'unknown', workload: 'unknown', result: null };

/** An agent that speaks of another intent than its pod is not the one that we put there. */
function probeOf(status: AgentStatus, pod: Pod): ProbeReading {
  if (status.intent !== pod.env?.SPILLWAY_INTENT) return UNKNOWN;
  return {
    bootstrap: status.bootstrap === 'failed' ? 'begun' : status.bootstrap,
    workload: status.workload,
    result: status.workload === 'finished' ? status.result : null,
  };
}

function failed(failure: LaneFailure): { readonly kind: 'failed'; readonly failure: LaneFailure } {
  return { kind: 'failed', failure };
}
