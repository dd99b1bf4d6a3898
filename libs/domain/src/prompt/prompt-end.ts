import type { KnownEvent } from '#events/catalogue';
import { LOCAL_SUBJECT } from '../actor.ts';
import { shortened } from '../audit/told.ts';
import type { ClosedView } from '../audit/views.ts';
import type { QuestionEnd } from './recorded-question.ts';

/** How and by whom a question was closed; `viewer` is the recorded form of who looks (fallback 7). */
export function closedView({ by, behind }: QuestionEnd, viewer: string): ClosedView {
  return { at: by.row.recordedAt, ...endOf(by, behind, viewer) };
}

function endOf(by: KnownEvent, behind: readonly KnownEvent[], viewer: string): Omit<ClosedView, 'at'> {
  switch (by.type) {
    case 'ConsentAccepted':
    case 'FailoverAccepted':
      return { how: 'accepted', by: nameOf(by.data.answeredBy, viewer), why: calledOff(behind) };
    case 'ConsentDeclined':
    case 'FailoverDeclined':
      return { how: 'declined', by: nameOf(by.data.answeredBy, viewer), why: null };
    case 'FallbackPrompted':
      return by.data.record === 'opened'
        ? withdrawn('The request changed, and a question about the new one was asked.')
        : { how: 'superseded', by: null, why: 'A newer question about other evidence took its place.' };
    case 'FailoverPrompted':
      return withdrawn('A failover question took its place: an allocation has one open question.');
    case 'AttemptTracked':
    case 'AttemptIgnored':
      return withdrawn('The request changed, so what was asked about is no longer wanted.');
    case 'AllocationSucceeded':
      return withdrawn('The allocation was placed meanwhile.');
    case 'AllocationErased':
      return withdrawn('The allocation was erased.');
    case 'FailoverVoided':
      return withdrawn(VOIDED[by.data.why]);
    default:
      // A renewal keeps its question open, and nothing else touches one.
      throw new Error(`${by.type} ends no question`);
  }
}

function withdrawn(why: string): Omit<ClosedView, 'at'> {
  return { how: 'withdrawn', by: null, why };
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
