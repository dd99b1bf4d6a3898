import type { KnownEvent } from '#events/catalogue';
import type { Scalars } from '#events/scalars';
import {
  ALLOCATION_EVENTS,
  type Allocation,
  type AllocationDecision,
  ATTEMPT_DECISIONS,
  boundedProvenance,
  CONSENT_DECISIONS,
  isAllocationDecision,
  NO_RECORD,
  PROVENANCE_MAX_ROWS,
  provenanceRowOf,
} from './allocation.ts';

/**
 * What a cold start reads of a stream, each list newest first (fallback 7). `last` comes first: the others
 * are read up to its decision version, so that a decision made meanwhile cannot be half of the state.
 */
export const COLD_START_READS = {
  last: { types: ALLOCATION_EVENTS, limit: 1 },
  attemptRows: { types: ATTEMPT_DECISIONS, limit: PROVENANCE_MAX_ROWS },
  consentRows: { types: CONSENT_DECISIONS, limit: PROVENANCE_MAX_ROWS },
  /** A page; read older ones for as long as `needsOlderDeclines` says so. */
  declinedRows: { types: ['ConsentDeclined'], limit: 256 },
} as const;

/** Recorded decisions of one stream, newest first, none newer than `last`. */
export interface ColdStart {
  /** The newest decision about the allocation; null when there is none. */
  readonly last: KnownEvent | null;
  readonly attemptRows: readonly KnownEvent[];
  readonly consentRows: readonly KnownEvent[];
  readonly declinedRows: readonly KnownEvent[];
  /** The stream's decision version: above that of `last` when facts of another kind came after it. */
  readonly version: number;
}

/** The state that a full fold gives, from a bounded number of rows. Throws when a row cannot belong there. */
export function allocationFromDecisions(read: ColdStart): Allocation {
  const { last, version } = read;
  if (last === null) return { version, scalars: NO_RECORD, declined: [], provenance: [] };

  const scalars = scalarsOf(last);
  const rows = [...read.attemptRows, ...read.consentRows]
    .map((row) => decisionUpTo(last, row))
    .filter((row) => row.row.decisionVersion > scalars.recordSince)
    .sort((one, other) => one.row.decisionVersion - other.row.decisionVersion);
  const declined = read.declinedRows
    .map((row) => decisionUpTo(last, row))
    .filter((row) => row.row.decisionVersion > scalars.evidenceSince)
    .flatMap((row) => (row.type === 'ConsentDeclined' ? [row.data.evidenceDigest] : []));

  return {
    version,
    scalars,
    declined: declined.reverse(),
    provenance: boundedProvenance(rows.flatMap((row) => provenanceRowOf(row, row.data.after) ?? [])),
  };
}

/** Whether older declines still count: the page is full, and its oldest row is no older than the evidence. */
export function needsOlderDeclines(page: readonly KnownEvent[], last: KnownEvent): boolean {
  const oldest = page.at(-1);
  if (oldest === undefined || page.length < COLD_START_READS.declinedRows.limit) return false;
  return oldest.row.decisionVersion > scalarsOf(last).evidenceSince;
}

/** The record after a decision, as the decision itself carries it. */
export function scalarsOf(last: KnownEvent): Scalars {
  if (!isAllocationDecision(last))
    throw new Error(`${last.type} carries no record: not an allocation's decision`);
  return last.data.after;
}

function decisionUpTo(last: KnownEvent, row: KnownEvent): AllocationDecision {
  if (!isAllocationDecision(row)) throw new Error(`${row.type} leaves no row: not an allocation's decision`);
  if (row.row.decisionVersion > last.row.decisionVersion) {
    throw new Error(`position ${row.row.pos} is newer than the last decision that was read`);
  }
  return row;
}
