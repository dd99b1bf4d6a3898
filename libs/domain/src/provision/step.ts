import type { Entry, Escalation } from '#events/intent.events';
import type { Rung } from '#events/plan';
import type { Fact } from '../fact.ts';
import type { IntentState } from '../intent/intent-state.ts';
import type { LaneFacts, LaneFailure, LaneInstance, ProbeReading } from './lane.ts';

/** What a worker does next on one allocation: one effect, or facts to record, or nothing now. */
export type Step =
  | { readonly do: 'append'; readonly facts: readonly Fact[] }
  /** The consent table decides whether the move is made, asked for, or blocked (failover 4.8). */
  | { readonly do: 'escalate'; readonly escalation: Escalation }
  /** Counts a create before it is sent, and takes the lease with it (failover 5.2). */
  | { readonly do: 'count_rung'; readonly rung: string; readonly day: string; readonly count: number }
  | { readonly do: 'take_lease'; readonly intent: string }
  | { readonly do: 'list'; readonly lane: string }
  | { readonly do: 'probe'; readonly lane: string; readonly instance: string }
  | { readonly do: 'probe_lane'; readonly rung: Rung }
  | {
      readonly do: 'open_intent';
      readonly lane: string;
      readonly entry: Entry;
      readonly chain: string;
      /** Closed in the same append. */
      readonly replaces: string | null;
    }
  | { readonly do: 'create'; readonly intent: IntentState }
  | { readonly do: 'bootstrap'; readonly intent: IntentState; readonly instance: string }
  | {
      readonly do: 'dispatch';
      readonly intent: IntentState;
      readonly instance: string;
      /** The intent that the machine itself carries: its start is guarded by it. */
      readonly guard: string;
    }
  | { readonly do: 'reap'; readonly intent: IntentState; readonly instance: string }
  /** `queued`: the instance is read first, since it may have begun to run (failover 4.4). */
  | {
      readonly do: 'cancel';
      readonly instance: string;
      readonly lane: string;
      readonly expects: 'queued' | 'running';
      /** A cancel owed of a move that is over: it is ended even if it runs (failover 14). */
      readonly superseded: boolean;
    }
  /** Nothing more can happen now; `until` = when it can at the latest, null = when something new is heard. */
  | { readonly do: 'wait'; readonly why: WaitReason; readonly until: string | null }
  | { readonly do: 'rest' };

/** Why a worker that has something to do does nothing now. */
export const WAIT_REASONS = [
  'observe_only',
  'log_rewound',
  'terminal_limit',
  'lane_unknown',
  'listing_failed',
  'listing_grace',
  'pause',
  'probe_unknown',
  'keep_mark',
  'reap_failed',
  'cancel_unconfirmed',
  'delivered_pool',
] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

/** A complete listing of a lane, with the moment on the store's clock at which it started. */
export interface Listing {
  readonly startedAt: string;
  readonly instances: readonly LaneInstance[];
}

/** What one worker has learnt and done in one run on one allocation: forgotten when it ends or dies. */
export interface Work {
  /** Rungs counted by this worker, as `walk rung`. */
  readonly counted: readonly string[];
  /** Intents that this worker opened, or whose machine it has looked at: it need not look again. */
  readonly knows: readonly string[];
  readonly fence: number | null;
  readonly listings: Readonly<Record<string, Listing | 'failed'>>;
  readonly probes: Readonly<Record<string, ProbeReading | 'failed'>>;
  readonly laneProbes: Readonly<Record<string, 'open' | LaneFailure>>;
  /** Machines that this worker prepared, or found prepared. */
  readonly ready: readonly string[];
  /** Machines whose bootstrap failed under this worker's eyes. */
  readonly halfBuilt: readonly string[];
  /** Cancels tried in this run. */
  readonly cancelTried: readonly string[];
  /** Terminates tried in this run that did not end the machine. */
  readonly reapFailed: readonly string[];
  /** A pass walks what is owed as well: cancels, leftovers of closed chains. */
  readonly pass: boolean;
}

export const NO_WORK: Work = {
  counted: [],
  knows: [],
  fence: null,
  listings: {},
  probes: {},
  laneProbes: {},
  ready: [],
  halfBuilt: [],
  cancelTried: [],
  reapFailed: [],
  pass: false,
};

/** The deployment's part of the rules. */
export interface ProvisionRules {
  readonly deployment: string;
  readonly observeOnly: boolean;
}

/** Everything a step is chosen on, beside the state. The time comes in as a value (failover 3.4). */
export interface View {
  readonly stream: string;
  /** The allocation's clear name, to tell a person's machine of the same name; null when it was erased. */
  readonly name: string | null;
  /** By the store's clock, as all workers go by it. */
  readonly now: string;
  readonly rules: ProvisionRules;
  readonly laneFacts: (lane: string) => LaneFacts | null;
  /**
   * Whether this lane has to be listed before a create of this allocation: after a start nobody has seen it in
   * full yet, or a machine of the allocation is known that its stream does not tell of (failover 10.3).
   */
  readonly mustLook: (lane: string) => boolean;
  /** Whether a terminal create has room now (failover 5.9). */
  readonly terminalRoom: boolean;
  readonly work: Work;
}
