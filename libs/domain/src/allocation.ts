import type { DataOfType, EventType, KnownEvent } from '#events/catalogue';
import { instantMs } from '#events/instant';
import type { Scalars } from '#events/scalars';
import type { AllocationRow } from './log.ts';

/** One step of the record as the answer shows it (fallback 7). Digests only. */
export interface ProvenanceRow {
  readonly attempt: number;
  readonly classification: string;
  readonly evidence_digest: string;
  readonly selected_pool: Scalars['pool'];
  readonly consent_outcome: 'recorded' | 'ignored' | 'success' | 'accepted' | 'declined';
}

/** The state of one logical allocation: what the rules ask for and what the answer shows. */
export interface Allocation {
  /** Decisions and facts folded so far. */
  readonly version: number;
  readonly scalars: Scalars;
  /** All evidence ever declined in this record. */
  readonly declined: readonly string[];
  /** At most 32 rows of this record, in time order. */
  readonly provenance: readonly ProvenanceRow[];
}

/** What a decision says beside the record after it. */
export type DecisionContent = {
  [Type in AllocationEventType]: { readonly type: Type; readonly data: Omit<DataOfType<Type>, 'after'> };
}[AllocationEventType];

/** A decision to fold: recorded, or about to be (its id is derived before it is appended). */
export type AllocationEvent = DecisionContent & { readonly eventId: string };

export type AllocationEventType = Extract<
  EventType,
  | 'AttemptTracked'
  | 'AttemptIgnored'
  | 'AllocationSucceeded'
  | 'FallbackPrompted'
  | 'PromptRenewed'
  | 'ConsentAccepted'
  | 'ConsentDeclined'
  | 'FailoverPrompted'
  | 'FailoverAccepted'
  | 'FailoverDeclined'
  | 'FailoverVoided'
  | 'AllocationErased'
>;

/** Decisions that change an allocation, for reading a stream. */
export const ALLOCATION_EVENTS = [
  'AttemptTracked',
  'AttemptIgnored',
  'AllocationSucceeded',
  'FallbackPrompted',
  'PromptRenewed',
  'ConsentAccepted',
  'ConsentDeclined',
  'FailoverPrompted',
  'FailoverAccepted',
  'FailoverDeclined',
  'FailoverVoided',
  'AllocationErased',
] as const satisfies readonly AllocationEventType[];

/** The decisions about attempts that leave a provenance row. */
export const ATTEMPT_DECISIONS = [
  'AttemptTracked',
  'AttemptIgnored',
  'AllocationSucceeded',
  'FallbackPrompted',
] as const satisfies readonly AllocationEventType[];

export type AttemptDecisionType = (typeof ATTEMPT_DECISIONS)[number];

/** A recorded decision about an attempt. */
export type AttemptDecision = Extract<KnownEvent, { readonly type: AttemptDecisionType }>;

export function isAttemptDecision(event: KnownEvent): event is AttemptDecision {
  return ATTEMPT_DECISIONS.some((type) => type === event.type);
}

/** The decisions that keep the declined evidence and the consent rows. */
export const CONSENT_DECISIONS = [
  'ConsentAccepted',
  'ConsentDeclined',
] as const satisfies readonly AllocationEventType[];

export const PROVENANCE_MAX_ROWS = 32;
const BUDGET_WINDOW_MS = 24 * 60 * 60 * 1000;

export const NO_RECORD: Scalars = {
  requestDigest: null,
  recordSince: 0,
  evidenceSince: 0,
  count: 0,
  status: 'tracking',
  consent: 'not-requested',
  pool: 'on-demand',
  promptedEvidence: null,
  openQuestion: null,
  questionTimes: [],
};

/** Before anything was decided. */
export const UNKNOWN_ALLOCATION: Allocation = {
  version: 0,
  scalars: NO_RECORD,
  declined: [],
  provenance: [],
};

/** The one fold (design 7). It chooses nothing: the event says what was decided. */
export function evolve(before: Allocation, event: AllocationEvent): Allocation {
  const scalars = scalarsAfter(before, event);
  const row = provenanceRowOf(event, scalars);
  const provenance = opensRecord(event) ? [] : before.provenance;
  return {
    version: before.version + 1,
    scalars,
    declined: declinedAfter(before.declined, event),
    provenance: row === null ? provenance : boundedProvenance([...provenance, row]),
  };
}

/**
 * Folds a recorded event: an input changes nothing, and every decision or fact counts one version, also one
 * that says nothing about this record.
 */
export function evolveRecorded(before: Allocation, event: KnownEvent): Allocation {
  if (event.row.role === 'input') return before;
  if (!isAllocationDecision(event)) return { ...before, version: before.version + 1 };
  return evolve(before, event);
}

/** A recorded decision that changes an allocation; it carries the record after it. */
export type AllocationDecision = Extract<KnownEvent, { readonly type: AllocationEventType }>;

export function isAllocationDecision(event: KnownEvent): event is AllocationDecision {
  return ALLOCATION_TYPES.has(event.type);
}

const ALLOCATION_TYPES: ReadonlySet<EventType> = new Set(ALLOCATION_EVENTS);

/** Whether something that is about to be recorded is a decision of this fold. */
export function isAllocationFact<Event extends { readonly type: EventType }>(
  event: Event,
): event is Extract<Event, { readonly type: AllocationEventType }> {
  return ALLOCATION_TYPES.has(event.type);
}

/** The row that a decision adds to the record; null for one that adds none. */
export function provenanceRowOf(event: DecisionContent, after: Scalars): ProvenanceRow | null {
  const row = { attempt: after.count, selected_pool: after.pool };
  switch (event.type) {
    case 'AttemptTracked':
    case 'FallbackPrompted': {
      const { category, evidenceDigest } = event.data;
      return {
        ...row,
        classification: category,
        evidence_digest: evidenceDigest,
        consent_outcome: 'recorded',
      };
    }
    case 'AttemptIgnored': {
      const { reason, evidenceDigest } = event.data;
      const classification = reason === 'preemptible_already_selected' ? 'already_selected' : 'not_on_demand';
      return { ...row, classification, evidence_digest: evidenceDigest, consent_outcome: 'ignored' };
    }
    case 'AllocationSucceeded': {
      const { evidenceDigest } = event.data;
      return {
        ...row,
        classification: 'success',
        evidence_digest: evidenceDigest,
        consent_outcome: 'success',
      };
    }
    case 'ConsentAccepted':
    case 'ConsentDeclined': {
      const outcome = event.type === 'ConsentAccepted' ? 'accepted' : 'declined';
      const { evidenceDigest } = event.data;
      return {
        ...row,
        classification: 'consent',
        evidence_digest: evidenceDigest,
        consent_outcome: outcome,
      };
    }
    case 'PromptRenewed':
    case 'AllocationErased':
    case 'FailoverPrompted':
    case 'FailoverAccepted':
    case 'FailoverDeclined':
    case 'FailoverVoided':
      return null;
  }
}

/** Question times that still count against the budget at `at` (fallback 3: 24 h). */
export function questionTimesInWindow(scalars: Scalars, at: string): readonly string[] {
  const since = instantMs(at) - BUDGET_WINDOW_MS;
  return scalars.questionTimes.filter((asked) => instantMs(asked) > since);
}

/** The record's half of the candidate list's row: derived, never read back by a rule. */
export function allocationRowOf(scalars: Scalars): AllocationRow {
  return {
    status: scalars.status,
    openQuestion: scalars.openQuestion?.eventId ?? null,
    questionExpiresAt: scalars.openQuestion?.expiresAt ?? null,
  };
}

/** At most 32 rows: consent rows are kept first, the rest are the newest others, in time order (fallback 8). */
export function boundedProvenance(rows: readonly ProvenanceRow[]): readonly ProvenanceRow[] {
  const excess = rows.length - PROVENANCE_MAX_ROWS;
  if (excess <= 0) return rows;

  const others = rows.filter((row) => !isConsentRow(row));
  const dropped = new Set(others.slice(0, excess));
  const kept = rows.filter((row) => !dropped.has(row));
  return kept.slice(-PROVENANCE_MAX_ROWS);
}

export function isConsentRow(row: ProvenanceRow): boolean {
  return row.classification === 'consent';
}

/** What was declined in this record; a success forgets it (fallback 6). */
function declinedAfter(before: readonly string[], event: AllocationEvent): readonly string[] {
  if (event.type === 'ConsentDeclined') return [...before, event.data.evidenceDigest];
  return opensRecord(event) || event.type === 'AllocationSucceeded' ? [] : before;
}

function opensRecord({ data }: AllocationEvent): boolean {
  return 'record' in data && data.record === 'opened';
}

/** The scalars after a decision, which it carries: a fold of their own, `version` decisions behind them. */
export function scalarsAfter(
  { version, scalars }: Pick<Allocation, 'version' | 'scalars'>,
  event: AllocationEvent,
): Scalars {
  switch (event.type) {
    case 'AttemptTracked':
      return counted(inRecord(scalars, version, event.data), event.data);
    case 'FallbackPrompted':
      return asked(counted(inRecord(scalars, version, event.data), event.data), event);
    case 'AttemptIgnored': {
      const kept = inRecord(scalars, version, event.data);
      return event.data.reason === 'not_on_demand' ? kept : { ...kept, status: 'consented' };
    }
    case 'AllocationSucceeded':
      return succeeded(inRecord(scalars, version, event.data), version + 1);
    case 'PromptRenewed': {
      const { openQuestion } = scalars;
      if (openQuestion === null) throw new Error('a renewal without an open question');
      const renewed = { ...openQuestion, eventId: event.eventId, expiresAt: event.data.expiresAt };
      return { ...scalars, openQuestion: renewed };
    }
    case 'ConsentAccepted':
      return answered(scalars, { pool: 'preemptible', status: 'consented', consent: 'accepted' });
    case 'ConsentDeclined':
      return answered(scalars, { pool: 'on-demand', status: 'declined', consent: 'declined' });
    case 'FailoverPrompted':
      return failoverAsked(scalars, event);
    case 'FailoverAccepted':
    case 'FailoverDeclined':
    case 'FailoverVoided':
      return withoutFailoverQuestion(scalars);
    case 'AllocationErased':
      // Whichever question is open, its token is dead (fallback 6).
      return withoutFailoverQuestion(withdrawn(scalars));
  }
}

function inRecord(
  scalars: Scalars,
  since: number,
  data: { readonly record: 'opened' | 'kept'; readonly requestDigest: string },
): Scalars {
  if (data.record === 'kept') return scalars;
  return {
    ...NO_RECORD,
    requestDigest: data.requestDigest,
    recordSince: since,
    evidenceSince: since,
    // The failover question and the budget belong to the name, not to the record (fallback 3).
    openQuestion: failoverQuestionOf(scalars),
    questionTimes: scalars.questionTimes,
  };
}

function counted(scalars: Scalars, data: { readonly qualifying: boolean }): Scalars {
  return {
    ...scalars,
    status: scalars.status === 'succeeded' ? 'tracking' : scalars.status,
    count: scalars.count + (data.qualifying ? 1 : 0),
  };
}

function asked(scalars: Scalars, prompt: Extract<AllocationEvent, { type: 'FallbackPrompted' }>): Scalars {
  const { eventId } = prompt;
  const { actionDigest, evidenceDigest, askedAt, expiresAt } = prompt.data;
  return {
    ...scalars,
    status: 'awaiting-consent',
    consent: 'pending',
    promptedEvidence: evidenceDigest,
    openQuestion: { kind: 'pool', eventId, originId: eventId, actionDigest, evidenceDigest, expiresAt },
    questionTimes: [...questionTimesInWindow(scalars, askedAt), askedAt],
  };
}

function succeeded(scalars: Scalars, evidenceSince: number): Scalars {
  return {
    ...scalars,
    count: 0,
    status: 'succeeded',
    consent: scalars.pool === 'preemptible' ? 'accepted' : 'not-requested',
    promptedEvidence: null,
    evidenceSince,
    openQuestion: failoverQuestionOf(scalars),
  };
}

function answered(scalars: Scalars, outcome: Pick<Scalars, 'pool' | 'status' | 'consent'>): Scalars {
  return { ...scalars, ...outcome, openQuestion: null };
}

/** A pool question that goes away without an answer leaves its evidence neither prompted nor declined. */
function withdrawn(scalars: Scalars): Scalars {
  if (scalars.openQuestion?.kind !== 'pool') return scalars;
  return {
    ...scalars,
    status: 'tracking',
    consent: 'not-requested',
    promptedEvidence: null,
    openQuestion: null,
  };
}

/** One open question: that of a failover withdraws an open pool question, and changes nothing else (fallback 3). */
function failoverAsked(
  scalars: Scalars,
  prompt: Extract<AllocationEvent, { type: 'FailoverPrompted' }>,
): Scalars {
  const { eventId } = prompt;
  const { actionDigest, evidenceDigest, expiresAt } = prompt.data;
  return {
    ...withdrawn(scalars),
    openQuestion: { kind: 'failover', eventId, originId: eventId, actionDigest, evidenceDigest, expiresAt },
  };
}

function withoutFailoverQuestion(scalars: Scalars): Scalars {
  return failoverQuestionOf(scalars) === null ? scalars : { ...scalars, openQuestion: null };
}

function failoverQuestionOf(scalars: Scalars): Scalars['openQuestion'] {
  return scalars.openQuestion?.kind === 'failover' ? scalars.openQuestion : null;
}
