import type { z } from 'zod';
import type { Gpu as GpuShape, LANE_FAILURES, LaneKind as LaneKindShape } from '#events/plan';
import type { GUEST_PHASES } from '#events/watch.events';

/** What a lane's machines are for (failover 1). Declared by its driver, never read from a plan. */
export type LaneKind = z.output<typeof LaneKindShape>;

/** What a failed call to a provider means: the closed union (providers 1.1). */
export type LaneFailureKind = (typeof LANE_FAILURES)[number];

export type LaneCall =
  | 'probe_lane'
  | 'create'
  | 'list'
  | 'get'
  | 'terminate'
  | 'probe'
  | 'bootstrap'
  | 'dispatch';

/**
 * One failed call. `text` is the provider's, with secrets removed: whoever records the failure seals it, and
 * nobody logs it. `code` is in clear only if it is a row of the provider's table (failover 6).
 */
export interface LaneFailure {
  readonly kind: LaneFailureKind;
  readonly provider: string;
  readonly call: LaneCall;
  /** HTTP or gRPC status; null when no answer came. */
  readonly status: number | null;
  readonly code: string | null;
  /** Whether `code` is a row of the provider's table, and so may stand in an event. */
  readonly codeIsKnown: boolean;
  readonly text: string;
  readonly retryAfterS: number | null;
  /** Whether the request can have reached the provider. */
  readonly sent: boolean;
}

/** What an instance carries from its create call (failover 1). A member that cannot be read is null. */
export interface Marker {
  readonly deployment: string | null;
  readonly allocation: string | null;
  readonly intent: string | null;
}

/** The name and the mark of one intent: what a create sends (failover 1). */
export interface IntentMark {
  readonly name: string;
  readonly deployment: string;
  readonly allocation: string;
  readonly intent: string;
}

/** How the provider sees an instance; the provider's own words are mapped by its driver. */
export type InstanceState = 'queued' | 'provisioning' | 'running' | 'terminated';

/** An instance as a listing or a read shows it, whoever made it. */
export interface LaneInstance {
  /** The provider's own id: the only identity. */
  readonly id: string;
  readonly name: string;
  readonly marker: Marker;
  /** A keep mark, or one that cannot be read (providers 1.10). */
  readonly keep: boolean;
  readonly state: InstanceState;
  /** The pool that the provider says it delivered; null = unreadable. */
  readonly pool: string | null;
  readonly zone: string | null;
  /** In the log's form, whatever the provider writes; null = unreadable. */
  readonly createdAt: string | null;
  readonly costPerHourUsd: number | null;
}

export type Gpu = z.output<typeof GpuShape>;

/** What is to run, unsealed. Exactly one of `command` and `arguments` is set (failover 2.1). */
export interface Workload {
  readonly command: string | null;
  readonly arguments: readonly string[] | null;
  readonly image: string | null;
  readonly branch: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly outputs: readonly string[];
  readonly diskBytes: number | null;
  readonly memoryBytes: number | null;
}

/** One create of one intent: the same intent always asks for the same. */
export interface CreateRequest {
  readonly pool: string | null;
  readonly zone: string | null;
  readonly machine: string | null;
  readonly gpu: Gpu | null;
  readonly maxRunS: number | null;
  /** Null for an allocation that only provisions (failover 2.1). */
  readonly workload: Workload | null;
}

export type CreateAnswer =
  | { readonly kind: 'created'; readonly instance: LaneInstance }
  /** The name is taken: what stands under it, or null when that cannot be read (failover 9.2). */
  | { readonly kind: 'name_conflict'; readonly instance: LaneInstance | null }
  /** The workload itself failed while placing (failover 4.5); nothing of it is left running. */
  | { readonly kind: 'workload_error'; readonly failure: LaneFailure }
  | { readonly kind: 'failed'; readonly failure: LaneFailure };

export type GuestPhase = (typeof GUEST_PHASES)[number];

/** Everything that one read of one instance tells a watcher (failover 2.2). */
export interface InstanceReading {
  readonly instance: LaneInstance;
  /** Null = unreadable. */
  readonly guest: { readonly phase: GuestPhase; readonly workloadStarted: boolean | null } | null;
  readonly alarm: 'none' | 'transport' | 'control_plane';
  readonly logAgeS: number | null;
  /** Pods only: a public port exists. */
  readonly port: boolean | null;
}

/** The operations that a provider keeps of an instance, also of one that is gone (failover 2.2). */
export interface OperationsReading {
  readonly create: 'done' | 'running' | 'failed' | 'unknown';
  readonly createError: { readonly code: string | null; readonly message: string | null } | null;
  /** A delete that Spillway sent itself is not `present`. */
  readonly delete: 'none' | 'present' | 'unknown';
}

export type Read<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  | { readonly kind: 'failed'; readonly failure: LaneFailure };

export type TerminateAnswer =
  /**
   * Absent, or its delete operation is done. `onlyNotFound`: the provider just knows no such instance, which
   * proves nothing inside the listing grace (providers 1.5).
   */
  | { readonly kind: 'gone'; readonly onlyNotFound?: true }
  /** Taken, and not seen gone yet: it still counts as billing (failover 12.2). */
  | { readonly kind: 'requested' }
  | { readonly kind: 'failed'; readonly failure: LaneFailure };

/** What a probe on the machine itself finds. */
export interface ProbeReading {
  readonly bootstrap: 'not_begun' | 'begun' | 'complete' | 'unknown';
  readonly workload: 'none' | 'running' | 'finished' | 'unknown';
  /** Of a finished workload whose result can be read; null otherwise. */
  readonly result: 'done' | 'failed' | null;
}

export type BootstrapAnswer =
  | { readonly kind: 'complete' }
  /** Still starting: asked again within `no_port_s`. */
  | { readonly kind: 'pending' }
  | { readonly kind: 'failed'; readonly failure: LaneFailure };

export type DispatchAnswer =
  | { readonly kind: 'started' }
  /** Positively not started; asking again would not help. */
  | { readonly kind: 'refused'; readonly failure: LaneFailure }
  | { readonly kind: 'unknown'; readonly failure: LaneFailure };

/** What a driver says about itself (failover 1, providers 1). */
export interface LaneFacts {
  readonly lane: string;
  readonly provider: string;
  readonly kind: LaneKind;
  readonly queueingPools: readonly string[];
  /** How long after its create an instance may be missing from a listing. */
  readonly listingGraceMs: number;
  /** How long a create call may take; at most 30 s. */
  readonly createDeadlineMs: number;
  /** Whether a repeated create of the same intent makes no second instance. */
  readonly idempotentCreate: boolean;
  /** Whether the create starts the workload, or a dispatch of its own does. */
  readonly startsWorkload: 'by_create' | 'by_dispatch';
}

/**
 * A lane's driver (providers 1): turns calls into provider requests. It decides nothing, retries no create
 * and holds no state. No call rejects: every failure is one member of the closed union.
 */
export interface Lane {
  readonly facts: LaneFacts;
  /** Whether a rung can be asked at all: its pool, machine and quota as far as they can be read. Sends nothing. */
  probeLane(request: CreateRequest): Promise<Read<'open'>>;
  /** Sends one create with the marker in it. */
  create(mark: IntentMark, request: CreateRequest): Promise<CreateAnswer>;
  /** Every instance of the account's scope, other people's too, or a failure: never a part (providers 1.6). */
  list(): Promise<Read<readonly LaneInstance[]>>;
  /** One instance by the provider's id. A failure of kind `not_found` is the provider's own structured 404. */
  get(id: string): Promise<Read<InstanceReading>>;
  /** What happened to an instance, also to one that is gone. */
  operations(id: string): Promise<Read<OperationsReading>>;
  /** Ends one instance by the provider's id, never by name. */
  terminate(id: string): Promise<TerminateAnswer>;
  /** Asks the machine itself. Lanes whose create starts the workload answer `unknown`. */
  probe(id: string): Promise<Read<ProbeReading>>;
  /** Prepares the machine, or asks how far that is. Only of lanes with a separate dispatch. */
  bootstrap(id: string): Promise<BootstrapAnswer>;
  /** Starts the workload, guarded on the machine by the intent: a repeat starts nothing (failover 9.1, step 9). */
  dispatch(id: string, intent: string, workload: Workload): Promise<DispatchAnswer>;
}
