import type { KnownEvent } from '#events/catalogue';
import { LOCAL_SUBJECT } from '../actor.ts';
import { type AllocationDecision, isAllocationDecision } from '../allocation.ts';
import { shortened } from '../audit/told.ts';
import type { ClosedView } from '../audit/views.ts';
import type { QuestionEnd } from './recorded-question.ts';

/** How a question ended; `renewed` = it outlived its token and goes on under a new id (fallback 6). */
export function howEnded(by: AllocationDecision): ClosedView['how'] | 'renewed' {
  switch (by.type) {
    case 'ConsentAccepted':
    case 'FailoverAccepted':
      return 'accepted';
    case 'ConsentDeclined':
    case 'FailoverDeclined':
      return 'declined';
    case 'PromptRenewed':
      return 'renewed';
    // One about another request is no newer form of the same question.
    case 'FallbackPrompted':
      return by.data.record === 'opened' ? 'withdrawn' : 'superseded';
    case 'FailoverPrompted':
    case 'AttemptTracked':
    case 'AttemptIgnored':
    case 'AllocationSucceeded':
    case 'FailoverVoided':
    case 'AllocationErased':
      return 'withdrawn';
  }
}

/** How and by whom a question was closed; `viewer` is the recorded form of who looks (fallback 7). */
export function closedView({ by, behind }: QuestionEnd, viewer: string): ClosedView {
  const how = isAllocationDecision(by) ? howEnded(by) : null;
  // A renewal keeps its question open, and nothing but a decision about the allocation touches one.
  if (how === null || how === 'renewed') throw new Error(`${by.type} ends no question`);
  const who = 'answeredBy' in by.data ? nameOf(by.data.answeredBy, viewer) : null;
  return { at: by.row.recordedAt, how, by: who, why: whyEnded(by, behind) };
}

/** Why it ended as it did, in one sentence; null where the answer says it all. */
function whyEnded(by: KnownEvent, behind: readonly KnownEvent[]): string | null {
  switch (by.type) {
    case 'ConsentAccepted':
    case 'FailoverAccepted':
      return calledOff(behind);
    case 'FallbackPrompted':
      return by.data.record === 'opened'
        ? 'The request changed, and a question about the new one was asked.'
        : 'A newer question about other evidence took its place.';
    case 'FailoverPrompted':
      return 'A failover question took its place: an allocation has one open question.';
    case 'AttemptTracked':
    case 'AttemptIgnored':
      return 'The request changed, so what was asked about is no longer wanted.';
    case 'AllocationSucceeded':
      return 'The allocation was placed meanwhile.';
    case 'AllocationErased':
      return 'The allocation was erased.';
    case 'FailoverVoided':
      return VOIDED[by.data.why];
    default:
      return null;
  }
}

/** An acceptance looks once more (failover 4.8): what it found may have called the move off. */
function calledOff(behind: readonly KnownEvent[]): string | null {
  for (const event of behind) if (event.type === 'FailoverVoided') return VOIDED[event.data.why];
  return null;
}

const VOIDED = {
  running: 'The instance has begun to run and stays: nothing was bought.',
  reachable: 'The instance is reachable again and stays: nothing was bought.',
  done: 'The workload ended well meanwhile.',
  adopted: 'An operator took over a machine that a restored log had forgotten.',
} as const;

function nameOf(answeredBy: string, viewer: string): string {
  if (answeredBy === LOCAL_SUBJECT) return LOCAL_SUBJECT;
  return answeredBy === viewer ? 'you' : shortened(answeredBy);
}
