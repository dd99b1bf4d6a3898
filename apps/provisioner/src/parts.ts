import type { QuestionContext } from '#domain/intent/question-context';
import type { Command } from '#domain/log';
import type { Log } from '#domain/log-tables';
import type { Lane, LaneFailure, Workload } from '#domain/provision/lane';
import type { AlertKind } from '#events/watch.events';
import type { StoreClock } from '#platform/store-clock';
import type { Breaker } from './terminal-room.ts';

/**
 * Where a worker can be killed, between or inside any two steps (failover 9.4). In production reaching a point
 * does nothing; the crash tests end the process there.
 */
export const KILL_POINTS = [
  'decided',
  'queue_cancelled',
  'rung_counted',
  'intent_recorded',
  'create_in_flight',
  'created_unrecorded',
  'created_recorded',
  'bootstrapping',
  'ready',
  'dispatch_in_flight',
  'dispatched_unrecorded',
  'completed',
  'reap_in_flight',
] as const;
export type KillPoint = (typeof KILL_POINTS)[number];

/** A failure's text, sealed, with what the command must carry for it. */
export interface SealedFailure {
  readonly digest: string | null;
  readonly parts: Pick<Command, 'sealed' | 'recordKey' | 'ringKeyId'>;
}

/** The sealed texts of a launch, and a place for those of providers. */
export interface LaunchTexts {
  /** Null when it was erased: nothing can be created then. */
  workload(stream: string, digest: string): Promise<Workload | null>;
  /** The allocation's clear name; null when it was erased. */
  name(stream: string): Promise<string | null>;
  sealFailure(stream: string, failure: LaneFailure): Promise<SealedFailure>;
}

export interface ProvisionerSettings {
  readonly deployment: string;
  /** Decisions are recorded and nothing irreversible is sent (failover 5.10). */
  readonly observeOnly: boolean;
  /** Each lane is listed in full before its first create after a start: a restored backup shows then (failover 10.3). */
  readonly looksFirst: boolean;
  /** Allocations worked on at once; those that wait for a machine count too. */
  readonly runsAtOnceMax: number;
}

/** What happens beside the log, for log lines and metrics: never a caller's text. */
export type ProvisionerReport =
  | { readonly kind: 'alert'; readonly stream: string; readonly alert: AlertKind }
  | { readonly kind: 'step_failed'; readonly stream: string; readonly error: unknown }
  | { readonly kind: 'lease_lost'; readonly stream: string }
  | { readonly kind: 'listing_failed'; readonly lane: string; readonly failure: LaneFailure }
  | { readonly kind: 'steps_exceeded'; readonly stream: string };

export interface ProvisionerParts {
  readonly log: Log;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly clock: StoreClock;
  readonly ids: {
    /** 26 characters of lower-case base32, unguessable. */
    intentId(): string;
    /** Unguessable id of a command. */
    commandId(): string;
  };
  /** This worker's name on the leases it holds. */
  readonly holder: string;
  readonly texts: LaunchTexts;
  /** What a failover question of this stream is made of. */
  readonly question: (stream: string) => Promise<Pick<QuestionContext, 'ref' | 'digestOf' | 'tokenLifeS'>>;
  readonly kill: (point: KillPoint) => Promise<void>;
  /** Waits so many milliseconds, e.g. between two looks at a bootstrap. */
  readonly pause: (ms: number) => Promise<void>;
  /** Whether a terminal create has room (failover 5.9). */
  readonly terminalRoom: Breaker;
  readonly settings: ProvisionerSettings;
  readonly report: (event: ProvisionerReport) => void;
}
