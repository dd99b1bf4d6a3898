import type {
  CreateAnswer,
  Lane,
  LaneCall,
  LaneFacts,
  LaneFailure,
  LaneInstance,
  OperationsReading,
  Read,
  TerminateAnswer,
} from '#domain/provision/lane';
import type { HttpReply } from '../exchange.ts';
import { answeredFailure, type CallSite, localFailure, unansweredFailure } from '../failure.ts';
import type { Pods } from './cluster.ts';
import { type PodShape, podBody, refusalOf } from './create-body.ts';
import { kubernetesVerdict, pauseOf, placementVerdict } from './failure-table.ts';
import {
  guestOf,
  instanceOf,
  type Pod,
  type PodRef,
  readPage,
  readPod,
  refOf,
  stateOf,
  waitingMessage,
} from './pod.ts';

const CREATE_DEADLINE_MS = 30_000;
const READ_DEADLINE_MS = 20_000;
const PAGES_MAX = 1_000;
const PROVIDER = 'kubernetes';
const NAME_TAKEN = 'AlreadyExists';

export interface KubernetesLaneOptions {
  /** The lane's name in plans. */
  readonly lane: string;
  readonly kind: 'primary' | 'batch';
  readonly namespace: string;
  readonly pods: Pods;
  readonly shape: PodShape;
  /** What must not stand in any text. */
  readonly secrets: readonly string[];
  readonly listingGraceMs?: number;
  /** At most 30 s. */
  readonly createDeadlineMs?: number;
  readonly readDeadlineMs?: number;
}

/** Pods of one namespace (providers 5): a create succeeds before there is room, and its name makes it idempotent. */
export function kubernetesLane(options: KubernetesLaneOptions): Lane {
  const { pods, shape, namespace } = options;
  const deadlineMs = options.readDeadlineMs ?? READ_DEADLINE_MS;
  const facts: LaneFacts = {
    lane: options.lane,
    provider: PROVIDER,
    kind: options.kind,
    // Every pod waits here first, whatever its pool.
    queueingPools: [...shape.pools.keys()],
    // Reads are consistent: what is not listed is not there.
    listingGraceMs: options.listingGraceMs ?? 0,
    createDeadlineMs: options.createDeadlineMs ?? CREATE_DEADLINE_MS,
    idempotentCreate: true,
    startsWorkload: 'by_create',
  };
  const site = (call: LaneCall): CallSite => ({ provider: PROVIDER, call, secrets: options.secrets });
  const failureOf = (call: LaneCall, reply: HttpReply): LaneFailure => {
    if (reply.kind === 'unanswered') return unansweredFailure(site(call), reply);
    const failure = answeredFailure(site(call), reply, kubernetesVerdict(call, reply.status, reply.json));
    return { ...failure, retryAfterS: failure.retryAfterS ?? pauseOf(reply.json) };
  };
  const asInstance = (pod: Pod): LaneInstance => instanceOf(pod, shape.pools);

  /** The pod that is meant, or why not. Another pod under its name means that ours is gone. */
  const find = async (call: LaneCall, { name, uid }: PodRef): Promise<Read<Pod>> => {
    const reply = await pods.read(name, deadlineMs);
    const pod = goodJson(reply, readPod);
    if (pod === null) return failed({ ...failureOf('get', reply), call });
    if (pod.metadata.uid === uid) return { kind: 'ok', value: pod };
    return failed({
      ...localFailure(site(call), 'not_found', 'the name belongs to another pod'),
      sent: true,
    });
  };

  return {
    facts,

    async probeLane(request) {
      const refusal = refusalOf(request, shape);
      if (refusal !== null) return failed(localFailure(site('probe_lane'), 'rejected', refusal));
      return { kind: 'ok', value: 'open' };
    },

    async create(mark, request): Promise<CreateAnswer> {
      const refusal = refusalOf(request, shape);
      if (refusal !== null) return failed(localFailure(site('create'), 'rejected', refusal));
      const untilMs = performance.now() + facts.createDeadlineMs;
      const reply = await pods.create(podBody(mark, request, namespace, shape), facts.createDeadlineMs);
      const pod = goodJson(reply, readPod);
      if (pod !== null) return { kind: 'created', instance: asInstance(pod) };
      const failure = failureOf('create', reply);
      if (failure.code !== NAME_TAKEN) return failed(failure);
      const leftMs = Math.max(1, untilMs - performance.now());
      const standing = goodJson(await pods.read(mark.name, leftMs), readPod);
      return { kind: 'name_conflict', instance: standing === null ? null : asInstance(standing) };
    },

    async list(): Promise<Read<readonly LaneInstance[]>> {
      const found: LaneInstance[] = [];
      let next: string | null = null;
      for (let count = 0; count < PAGES_MAX; count += 1) {
        const reply = await pods.list(next, deadlineMs);
        const page = goodJson(reply, readPage);
        if (page === null) return failed(failureOf('list', reply));
        found.push(...page.pods.map(asInstance));
        if (page.next === null) return { kind: 'ok', value: found };
        next = page.next;
      }
      return failed(localFailure(site('list'), 'unavailable', 'the listing has no end'));
    },

    async get(id) {
      const ref = refOf(id);
      if (ref === null) return failed(localFailure(site('get'), 'rejected', 'no id of this lane'));
      const found = await find('get', ref);
      if (found.kind === 'failed') return found;
      const state = stateOf(found.value);
      if (state === null) {
        return failed({
          ...localFailure(site('get'), 'unavailable', 'the node is not heard of'),
          sent: true,
        });
      }
      const instance = { ...asInstance(found.value), state };
      return {
        kind: 'ok',
        value: { instance, guest: guestOf(found.value), alarm: 'none', logAgeS: null, port: null },
      };
    },

    /**
     * An object that exists has been created; who deleted one that is gone is kept nowhere. Of a pod that waits
     * `createError` says why, though its create is done.
     */
    async operations(id): Promise<Read<OperationsReading>> {
      const ref = refOf(id);
      if (ref === null) return failed(localFailure(site('get'), 'rejected', 'no id of this lane'));
      const found = await find('get', ref);
      if (found.kind === 'failed' && found.failure.kind !== 'not_found') return found;
      const message = found.kind === 'ok' ? waitingMessage(found.value) : null;
      const createError =
        message === null ? null : { code: placementVerdict(message)?.code ?? null, message };
      // An id is given out only with the object itself.
      return { kind: 'ok', value: { create: 'done', createError, delete: 'unknown' } };
    },

    async terminate(id): Promise<TerminateAnswer> {
      const ref = refOf(id);
      if (ref === null) return failed(localFailure(site('terminate'), 'rejected', 'no id of this lane'));
      const reply = await pods.remove(ref.name, ref.uid, deadlineMs);
      const taken = reply.kind === 'answered' && reply.status >= 200 && reply.status < 300;
      const failure = taken ? null : failureOf('terminate', reply);
      if (failure?.kind === 'not_found') return { kind: 'gone', onlyNotFound: true };
      // 409 = under this name stands a pod of another uid. Only a reading tells it from another conflict.
      if (failure !== null && failure.status !== 409) return failed(failure);
      const after = await find('terminate', ref);
      if (after.kind === 'failed' && after.failure.kind === 'not_found') return { kind: 'gone' };
      return failure === null ? { kind: 'requested' } : failed(failure);
    },

    // The create starts the workload: how far it is comes with `get`, by the containers.
    probe: async () => ({ kind: 'ok', value: { bootstrap: 'unknown', workload: 'unknown', result: null } }),
    bootstrap: async () => failed(localFailure(site('bootstrap'), 'rejected', BY_CREATE)),
    dispatch: async () => ({
      kind: 'refused',
      failure: localFailure(site('dispatch'), 'rejected', BY_CREATE),
    }),
  };
}

const BY_CREATE = 'on this lane the create starts the workload';

function goodJson<Value>(reply: HttpReply, read: (json: unknown) => Value | null): Value | null {
  const good = reply.kind === 'answered' && reply.status >= 200 && reply.status < 300;
  return good ? read(reply.json) : null;
}

function failed(failure: LaneFailure): { readonly kind: 'failed'; readonly failure: LaneFailure } {
  return { kind: 'failed', failure };
}
