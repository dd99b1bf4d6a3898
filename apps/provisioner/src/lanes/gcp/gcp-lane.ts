import type {
  CreateAnswer,
  Lane,
  LaneFacts,
  LaneFailure,
  LaneInstance,
  OperationsReading,
  Read,
  TerminateAnswer,
} from '#domain/provision/lane';
import { createdAtOf } from '../created-at.ts';
import type { HttpExchange } from '../exchange.ts';
import { localFailure } from '../failure.ts';
import { Compute, operationFailure, PROVIDER, siteOf, unfinished } from './compute.ts';
import { insertBody, type MachineDefaults, refusalOf, zoneOf } from './create-body.ts';
import { readGuest } from './guest.ts';
import {
  type Instance,
  type InstanceRef,
  idOf,
  instanceOf,
  readInstance,
  readPage,
  refOf,
  stateOf,
} from './instance.ts';
import {
  DELETE_KEYS,
  deleteKey,
  evidenceOf,
  insertKey,
  type Operation,
  readOperation,
  readOperations,
} from './operation.ts';
import { regionOf, shortMetric } from './region-quota.ts';
import type { TokenSource } from './tokens.ts';

export const GCP_GRACE_MS = 30_000;
export const GCP_CREATE_DEADLINE_MS = 30_000;
const READ_DEADLINE_MS = 20_000;
const PAGE_SIZE = 500;
/** Half a million instances; beyond it the pages go in a circle. */
const PAGES_MAX = 1_000;

export interface GcpLaneOptions {
  /** The lane's name in plans. */
  readonly lane: string;
  readonly project: string;
  /** Without the closing slash: https://compute.googleapis.com/compute/v1. */
  readonly baseUrl: string;
  readonly tokens: TokenSource;
  readonly defaults: MachineDefaults;
  readonly exchange: HttpExchange;
  /** The current time in milliseconds since 1970, for the age of a log. */
  readonly nowMs: () => number;
  readonly listingGraceMs?: number;
  /** At most 30 s: the insert and the end of its operation. */
  readonly createDeadlineMs?: number;
  readonly readDeadlineMs?: number;
}

/** Google Compute by REST v1 (providers 2): creates are idempotent by key and by name; a create starts the workload. */
export function gcpLane(options: GcpLaneOptions): Lane {
  const { defaults, nowMs } = options;
  const createDeadlineMs = options.createDeadlineMs ?? GCP_CREATE_DEADLINE_MS;
  const deadlineMs = options.readDeadlineMs ?? READ_DEADLINE_MS;
  const compute = new Compute({
    base: `${options.baseUrl}/projects/${encodeURIComponent(options.project)}`,
    exchange: options.exchange,
    tokens: options.tokens,
  });
  const facts: LaneFacts = {
    lane: options.lane,
    provider: PROVIDER,
    kind: 'primary',
    queueingPools: ['flex-start'],
    listingGraceMs: options.listingGraceMs ?? GCP_GRACE_MS,
    createDeadlineMs,
    idempotentCreate: true,
    startsWorkload: 'by_create',
  };
  const readOne = (call: 'get' | 'create' | 'terminate', zone: string, name: string, withinMs = deadlineMs) =>
    compute.ask(call, 'GET', `/zones/${zone}/instances/${name}`, {
      deadlineMs: withinMs,
      read: readInstance,
      asked: 'get',
    });

  const list = async (call: 'list' | 'get'): Promise<Read<readonly LaneInstance[]>> => {
    const found: LaneInstance[] = [];
    let token: string | null = null;
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const more: string = token === null ? '' : `&pageToken=${encodeURIComponent(token)}`;
      const answer = await compute.ask(call, 'GET', `/aggregated/instances?maxResults=${PAGE_SIZE}${more}`, {
        deadlineMs,
        read: readPage,
      });
      if (answer.kind === 'failed') return answer;
      found.push(...answer.value.instances.map(instanceOf));
      if (answer.value.next === null) return { kind: 'ok', value: found };
      token = answer.value.next;
    }
    return failed(localFailure(siteOf(call, ''), 'unavailable', 'the listing has no end'));
  };

  /** The instance that is meant, or why not. A name that has been taken again is somebody else: ours is gone. */
  const find = async (call: 'get' | 'terminate', ref: InstanceRef): Promise<Read<Instance>> => {
    const answer = await readOne(call, ref.zone, ref.name);
    if (answer.kind === 'failed' || answer.value.id === ref.number) return answer;
    const failure = localFailure(siteOf(call, ''), 'not_found', 'the name belongs to another instance');
    return failed({ ...failure, sent: true });
  };

  /** Absent is what two reads and the listing say (providers 2). */
  const confirmAbsence = async (ref: InstanceRef, first: LaneFailure): Promise<LaneFailure> => {
    const again = await find('get', ref);
    if (again.kind === 'ok') return { ...first, kind: 'unavailable' };
    if (again.failure.kind !== 'not_found') return again.failure;
    const listing = await list('get');
    if (listing.kind === 'failed') return listing.failure;
    const isListed = listing.value.some(({ id }) => id === idOf(ref));
    return isListed ? { ...first, kind: 'unavailable' } : again.failure;
  };

  return {
    facts,

    async probeLane(request) {
      const refusal = refusalOf(request, defaults);
      const zone = zoneOf(request, defaults);
      if (refusal !== null || zone === null) {
        return failed(localFailure(siteOf('probe_lane', ''), 'rejected', refusal ?? 'no zone is named'));
      }
      const path = `/zones/${zone}/machineTypes/${encodeURIComponent(request.machine ?? '')}`;
      const offered = await compute.ask('probe_lane', 'GET', path, {
        deadlineMs,
        read: (json) => json ?? null,
      });
      if (offered.kind === 'failed') {
        const { failure } = offered;
        // A zone that does not offer the machine is a broken rung, not a missing instance.
        return failed(failure.kind === 'not_found' ? { ...failure, kind: 'rejected' } : failure);
      }
      const region = await compute.ask('probe_lane', 'GET', `/regions/${regionOf(zone)}`, {
        deadlineMs,
        read: (json) => json ?? null,
      });
      const metric = region.kind === 'ok' ? shortMetric(region.value, request) : null;
      if (metric === null) return { kind: 'ok', value: 'open' };
      const short = localFailure(siteOf('probe_lane', ''), 'quota', `${metric} leaves no room`);
      return failed({ ...short, code: 'QUOTA_EXCEEDED', codeIsKnown: true, sent: true });
    },

    async create(mark, request): Promise<CreateAnswer> {
      const untilMs = performance.now() + createDeadlineMs;
      const refusal = refusalOf(request, defaults);
      const zone = zoneOf(request, defaults);
      if (refusal !== null || zone === null) {
        return failed(localFailure(siteOf('create', ''), 'rejected', refusal ?? 'no zone is named'));
      }
      const path = `/zones/${zone}/instances?requestId=${insertKey(mark.intent)}`;
      const begun = await compute.ask('create', 'POST', path, {
        deadlineMs: createDeadlineMs,
        body: insertBody(mark, request, zone, defaults),
        read: readOperation,
      });
      if (begun.kind === 'failed') {
        return begun.failure.code === NAME_TAKEN ? conflict(zone, mark.name, untilMs) : begun;
      }
      const ended = await compute.follow('create', zone, begun.value, untilMs);
      // The insert was taken: whatever goes wrong from here on, the machine may come.
      if (ended.kind === 'failed') return failed({ ...ended.failure, kind: 'outcome_unknown', sent: true });
      if (ended.value === null) return failed(unfinished('create', begun.value));
      if (ended.value.error !== undefined) {
        const failure = operationFailure('create', ended.value);
        return failure.code === NAME_TAKEN_LATER ? conflict(zone, mark.name, untilMs) : failed(failure);
      }

      const made = await readOne('create', zone, mark.name, Math.max(1, untilMs - performance.now()));
      if (made.kind === 'ok') return { kind: 'created', instance: instanceOf(made.value) };
      const known = withoutReading(ended.value, zone, mark);
      return known === null
        ? failed(unfinished('create', ended.value))
        : { kind: 'created', instance: known };
    },

    list: () => list('list'),

    async get(id) {
      const ref = refOf(id);
      if (ref === null) return failed(localFailure(siteOf('get', ''), 'rejected', 'no id of this lane'));
      const found = await find('get', ref);
      if (found.kind === 'failed') {
        return failed(
          found.failure.kind === 'not_found' ? await confirmAbsence(ref, found.failure) : found.failure,
        );
      }
      const state = stateOf(found.value.status);
      if (state === null) {
        const text = `on its way: ${found.value.status}`;
        return failed({ ...localFailure(siteOf('get', ''), 'unavailable', text), sent: true });
      }
      const instance = { ...instanceOf(found.value), state };
      const hasGuest = state === 'running' || state === 'terminated';
      const guest = hasGuest ? await readGuestOf(ref) : QUIET;
      return { kind: 'ok', value: { instance, port: null, ...guest } };
    },

    async operations(id): Promise<Read<OperationsReading>> {
      const ref = refOf(id);
      if (ref === null) return failed(localFailure(siteOf('get', ''), 'rejected', 'no id of this lane'));
      const path = `/zones/${ref.zone}/operations?filter=${encodeURIComponent(`targetId=${ref.number}`)}`;
      const answer = await compute.ask('get', 'GET', path, { deadlineMs, read: readOperations });
      return answer.kind === 'ok' ? { kind: 'ok', value: evidenceOf(answer.value, id) } : answer;
    },

    async terminate(id): Promise<TerminateAnswer> {
      const ref = refOf(id);
      if (ref === null)
        return failed(localFailure(siteOf('terminate', ''), 'rejected', 'no id of this lane'));
      const found = await find('terminate', ref);
      if (found.kind === 'failed') return goneOr(found.failure);
      return endOf(await remove(ref, id));
    },

    // The create starts the workload: how far it is comes with `get`, by the guest attributes.
    probe: async () => ({ kind: 'ok', value: { bootstrap: 'unknown', workload: 'unknown', result: null } }),
    bootstrap: async () => failed(localFailure(siteOf('bootstrap', ''), 'rejected', BY_CREATE)),
    dispatch: async () => ({
      kind: 'refused',
      failure: localFailure(siteOf('dispatch', ''), 'rejected', BY_CREATE),
    }),
  };

  async function conflict(zone: string, name: string, untilMs: number): Promise<CreateAnswer> {
    const standing = await readOne('create', zone, name, Math.max(1, untilMs - performance.now()));
    return { kind: 'name_conflict', instance: standing.kind === 'ok' ? instanceOf(standing.value) : null };
  }

  async function readGuestOf({ zone, name }: InstanceRef) {
    const path = `/zones/${zone}/instances/${name}/getGuestAttributes?queryPath=${encodeURIComponent('spillway/')}`;
    const answer = await compute.ask('get', 'GET', path, { deadlineMs, read: (json) => json ?? null });
    if (answer.kind === 'failed') {
      // "None yet" is the guest's silence; any other failure is the control plane's, and says nothing of the guest.
      return {
        ...QUIET,
        alarm: answer.failure.kind === 'not_found' ? ('none' as const) : ('control_plane' as const),
      };
    }
    const guest = readGuest(answer.value, nowMs());
    if (guest === null) return QUIET;
    const { logAgeS, ...reading } = guest;
    return { guest: reading, alarm: 'none' as const, logAgeS };
  }

  /** Asks for the delete, under a new key whenever the operation under the last one has ended in an error. */
  async function remove(ref: InstanceRef, id: string): Promise<Read<Operation | null>> {
    const untilMs = performance.now() + deadlineMs;
    let last: Read<Operation | null> = { kind: 'ok', value: null };
    for (let nth = 0; nth < DELETE_KEYS && performance.now() < untilMs; nth += 1) {
      const path = `/zones/${ref.zone}/instances/${ref.name}?requestId=${deleteKey(id, nth)}`;
      const begun = await compute.ask('terminate', 'DELETE', path, { deadlineMs, read: readOperation });
      if (begun.kind === 'failed') return begun;
      last = await compute.follow('terminate', ref.zone, begun.value, untilMs);
      // Not seen to its end is taken all the same.
      if (last.kind === 'failed') return { kind: 'ok', value: null };
      if (last.value === null || last.value.error === undefined) return last;
    }
    return last;
  }
}

/** The reason of an insert's own answer, and the code of its operation. */
const NAME_TAKEN = 'alreadyExists';
const NAME_TAKEN_LATER = 'RESOURCE_ALREADY_EXISTS';
const BY_CREATE = 'on this lane the create starts the workload';
const QUIET = { guest: null, alarm: 'none', logAgeS: null } as const;

function endOf(ended: Read<Operation | null>): TerminateAnswer {
  if (ended.kind === 'failed') return goneOr(ended.failure);
  if (ended.value === null) return { kind: 'requested' };
  return ended.value.error === undefined
    ? { kind: 'gone' }
    : failed(operationFailure('terminate', ended.value));
}

function goneOr(failure: LaneFailure): TerminateAnswer {
  return failure.kind === 'not_found' ? { kind: 'gone', onlyNotFound: true } : failed(failure);
}

/** What is known of a machine whose insert is done but which cannot be read yet. */
function withoutReading(
  { targetId, insertTime }: Operation,
  zone: string,
  {
    name,
    deployment,
    allocation,
    intent,
  }: { name: string; deployment: string; allocation: string; intent: string },
): LaneInstance | null {
  if (targetId === undefined) return null;
  return {
    id: idOf({ zone, name, number: targetId }),
    name,
    marker: { deployment, allocation, intent },
    keep: false,
    state: 'provisioning',
    pool: null,
    zone,
    createdAt: createdAtOf(insertTime ?? null),
    costPerHourUsd: null,
  };
}

function failed(failure: LaneFailure): { readonly kind: 'failed'; readonly failure: LaneFailure } {
  return { kind: 'failed', failure };
}
