import { CATALOGUE, type EventType, type KnownEvent } from '#events/catalogue';
import type { Stage } from '#events/define-event';
import { allocationRefOf } from '#events/streams';
import { INVARIANTS, type Invariants, invariantsOf } from '../attempt/invariants.ts';
import { storyLine } from '../audit/timeline.ts';
import type { InvariantView, PromptView } from '../audit/views.ts';
import { closedView } from './prompt-end.ts';
import { failoverWords, type PromptWords, poolWords } from './prompt-words.ts';
import type { RecordedQuestion } from './recorded-question.ts';
import { isExpired } from './renewal.ts';

/** For whom a question is shown, when, and what of its sealed texts. */
export interface Shown {
  /** UTC instant: an open question may have outlived its token. */
  readonly now: string;
  /** Who looks, as an answer of theirs would be recorded. */
  readonly viewer: string;
  /** Absent = not for this caller; null = erased (fallback 7). */
  readonly name?: string | null;
  /** All members of the request; the same. `{}` where the launch was given none. */
  readonly invariants?: Invariants | null;
}

const LINES_MAX = 12;

/** A question as a person sees it: what is asked, why, what a yes and a no lead to, and how it ended. */
export function promptView(question: RecordedQuestion, shown: Shown): PromptView {
  const { asked, id, expiresAt, end } = question;
  return {
    id,
    originId: asked.row.eventId,
    ref: allocationRefOf(asked.row.stream),
    ...(shown.name === undefined ? {} : { name: shown.name }),
    kind: asked.type === 'FallbackPrompted' ? 'pool' : 'failover',
    state: end !== null ? 'closed' : isExpired({ expiresAt }, shown.now) ? 'expired' : 'open',
    askedAt: asked.row.recordedAt,
    expiresAt,
    closed: end === null ? null : closedView(end, shown.viewer),
    ...wordsOf(question),
    ...(shown.invariants === undefined ? {} : { invariants: invariantViews(shown.invariants) }),
    attempts: ledHere(question),
    // No price is known before a machine is there: plans name none.
    costPerHourUsd: null,
  };
}

/** The digest under which the request's 13 members are sealed; null where a launch was given none. */
export function requestDigestOf({ asked, placement }: RecordedQuestion): string | null {
  return asked.type === 'FallbackPrompted'
    ? asked.data.requestDigest
    : (placement?.launch?.requestDigest ?? null);
}

function wordsOf({ asked, placement }: RecordedQuestion): PromptWords {
  if (asked.type === 'FallbackPrompted') return poolWords(asked);
  if (placement === null) throw new Error('a failover question without the placement it was asked about');
  return failoverWords(asked, placement);
}

function invariantViews(given: Invariants | null): readonly InvariantView[] | null {
  if (given === null) return null;
  const all = invariantsOf(given);
  return INVARIANTS.map((member) => ({ member, value: all[member] }));
}

/** The newest inputs and decisions that led to the asking, oldest first. */
function ledHere({ asked, before }: RecordedQuestion): PromptView['attempts'] {
  const since = asked.type === 'FallbackPrompted' ? asked.data.after.recordSince : 0;
  const leads = asked.type === 'FallbackPrompted' ? leadsToPool : leadsToFailover;
  return before
    .filter((event) => event.row.decisionVersion >= since && leads(event))
    .slice(-LINES_MAX)
    .map((event) => {
      const { pos, at, type, who, what, because } = storyLine(event);
      return { pos, at, type, who, what, because };
    });
}

const POOL_STAGES: readonly Stage[] = ['attempt', 'classify', 'prompt', 'consent'];

/** How Spillway does it, step by step: the whole story has it, and here it would push out what matters. */
const STEPS: readonly EventType[] = [
  'LaunchAccepted',
  'RungCounted',
  'IntentRecorded',
  'LeaseTaken',
  'IntentClosed',
  'CreateSending',
  'CancelSending',
];

function leadsToPool({ type }: KnownEvent): boolean {
  return POOL_STAGES.includes(CATALOGUE[type].stage);
}

function leadsToFailover({ type }: KnownEvent): boolean {
  return !STEPS.includes(type);
}
