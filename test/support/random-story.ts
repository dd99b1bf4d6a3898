import fc from 'fast-check';
import { type Allocation, type AllocationEvent, evolve, UNKNOWN_ALLOCATION } from '#domain/allocation';
import { decideConsent } from '#domain/consent/consent';
import { decideAttempt, type PromptRules } from '#domain/prompt/prompt';
import { renewPrompt } from '#domain/prompt/renewal';
import type { WholeDecision } from './allocation-events.ts';
import {
  type AttemptChange,
  AUTH,
  at,
  attempt,
  CAPACITY,
  DAY_S,
  digestOf,
  HOUR_S,
  idOf,
  OTHER,
  QUOTA,
} from './builders.ts';
import { verdictOf } from './watch-builders.ts';

/** Something that happens to an allocation, `laterS` seconds after what happened before. */
export type Step = { readonly laterS: number } & (
  | { readonly kind: 'attempt'; readonly change: AttemptChange }
  | { readonly kind: 'answer'; readonly accept: boolean; readonly tokenMatches: boolean }
  | { readonly kind: 'renewal' }
  | { readonly kind: 'erasure' }
  /** Asks about a failover, or ends the question about one, whatever became of it. */
  | { readonly kind: 'failover'; readonly end: 'FailoverAccepted' | 'FailoverDeclined' | 'FailoverVoided' }
);

/** A decision with the record before and after it. */
export interface Chapter {
  readonly decision: WholeDecision;
  readonly before: Allocation;
  readonly after: Allocation;
}

const oneIn = (times: number) =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
const laterS = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: HOUR_S }) },
  { weight: 1, arbitrary: fc.integer({ min: HOUR_S, max: DAY_S + 1 }) },
);

const attemptChange: fc.Arbitrary<AttemptChange> = fc
  .record({
    other: oneIn(20),
    evidence: fc.constantFrom('a', 'b', 'c'),
    classification: fc.constantFrom(CAPACITY, CAPACITY, QUOTA, AUTH, OTHER),
    lacking: oneIn(6),
    proof: oneIn(5),
    success: oneIn(20),
    elsewhere: oneIn(20),
  })
  .map(({ other, evidence, classification, lacking, proof, success, elsewhere }) => ({
    request: other ? 'other' : 'request',
    evidence,
    classification,
    blockers: lacking ? ['candidate_missing'] : [],
    proof: proof && !lacking,
    success,
    pool: elsewhere ? 'other' : 'on-demand',
  }));

const attempts: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('attempt'),
  laterS,
  change: attemptChange,
});
const answers: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('answer'),
  laterS,
  accept: oneIn(5),
  tokenMatches: fc.boolean(),
});
const renewals: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('renewal'), laterS });
const erasures: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('erasure'), laterS });

export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: attempts },
    { weight: 4, arbitrary: answers },
    { weight: 2, arbitrary: renewals },
    { weight: 1, arbitrary: erasures },
  ),
  { maxLength: 80, size: 'max' },
);

/** The same with failover questions in between, which belong to no attempt. */
export const stepsWithFailover: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: attempts },
    { weight: 4, arbitrary: answers },
    { weight: 2, arbitrary: renewals },
    { weight: 1, arbitrary: erasures },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant<'failover'>('failover'),
        laterS,
        end: fc.constantFrom('FailoverAccepted', 'FailoverDeclined', 'FailoverVoided'),
      }),
    },
  ),
  { maxLength: 80, size: 'max' },
);

export const rules: fc.Arbitrary<PromptRules> = fc.record({
  threshold: fc.integer({ min: 1, max: 3 }),
  questionsPerDay: fc.integer({ min: 1, max: 12 }),
  tokenLifeS: fc.constantFrom(HOUR_S, DAY_S),
});

/** Plays the steps by the rules, one decision after the other; a refused answer leaves no chapter. */
export function play(story: readonly Step[], promptRules: PromptRules): readonly Chapter[] {
  const chapters: Chapter[] = [];
  let before: Allocation = UNKNOWN_ALLOCATION;
  let seconds = 0;
  for (const [index, step] of story.entries()) {
    seconds += step.laterS;
    const next = decide(before, step, { seconds, decision: `decision ${index}` }, promptRules);
    if (next === null) continue;
    chapters.push({ ...next, before });
    before = next.after;
  }
  return chapters;
}

function decide(
  before: Allocation,
  step: Step,
  { seconds, decision }: { readonly seconds: number; readonly decision: string },
  promptRules: PromptRules,
): Pick<Chapter, 'decision' | 'after'> | null {
  const eventId = idOf(decision);
  switch (step.kind) {
    case 'attempt': {
      const reported = attempt({ ...step.change, at: seconds, decision });
      const { state, ...decided } = decideAttempt(before, reported, promptRules);
      return { decision: { ...decided, eventId }, after: state };
    }
    case 'answer': {
      // Its rule asks the placement too, which these stories do not have.
      if (before.scalars.openQuestion?.kind === 'failover') return null;
      const { accept, tokenMatches } = step;
      const answer = { accept, tokenMatches, question: null, answeredBy: 'local', at: at(seconds) };
      const outcome = decideConsent(before, { ...answer, decisionId: eventId });
      if (outcome.kind === 'refused') return null;
      return { decision: { type: outcome.type, eventId, data: outcome.data }, after: outcome.state };
    }
    case 'renewal': {
      const { tokenLifeS } = promptRules;
      const renewed = renewPrompt(before, { at: at(seconds), decisionId: eventId, tokenLifeS });
      if (renewed === null) return null;
      return { decision: { type: 'PromptRenewed', eventId, data: renewed.data }, after: renewed.state };
    }
    case 'erasure': {
      const { openQuestion } = before.scalars;
      const data = { withdrew: openQuestion?.eventId ?? null };
      const after = evolve(before, { type: 'AllocationErased', eventId, data });
      const whole = { ...data, after: after.scalars };
      return { decision: { type: 'AllocationErased', eventId, data: whole }, after };
    }
    case 'failover': {
      const event = failoverEvent(before, step.end, { seconds, eventId });
      const after = evolve(before, event);
      return { decision: wholeFailover(event, after), after };
    }
  }
}

type FailoverEvent = Extract<
  AllocationEvent,
  { type: 'FailoverPrompted' | 'FailoverAccepted' | 'FailoverDeclined' | 'FailoverVoided' }
>;

function failoverEvent(
  { scalars: { openQuestion } }: Allocation,
  end: FailoverEvent['type'],
  { seconds, eventId }: { readonly seconds: number; readonly eventId: string },
): FailoverEvent {
  const key = 'X1';
  const verdict = verdictOf('waiting');
  if (openQuestion?.kind !== 'failover' || end === 'FailoverPrompted') {
    const escalation = {
      trigger: 'queue_vanish',
      reason: 'gcp_queue_vanish_failover_runpod',
      rule: '4.3',
      evidence: {},
      key,
      failedInstance: key,
      rung: 'flex_a',
      cancel: 'nothing',
    } as const;
    const life = { askedAt: at(seconds), expiresAt: at(seconds + DAY_S) };
    const digests = { actionDigest: digestOf('move'), evidenceDigest: digestOf('vanish') };
    const withdrew = openQuestion?.eventId ?? null;
    return {
      type: 'FailoverPrompted',
      eventId,
      data: { escalation, ...digests, ...life, withdrew, verdict },
    };
  }
  const { eventId: questionId, actionDigest, expiresAt } = openQuestion;
  const answer = { questionId, actionDigest, key, answeredBy: 'local' };
  switch (end) {
    case 'FailoverAccepted':
      return { type: end, eventId, data: { ...answer, expiresAt } };
    case 'FailoverDeclined':
      return { type: end, eventId, data: answer };
    case 'FailoverVoided':
      return { type: end, eventId, data: { key, instance: key, why: 'done', dropsRungLoss: false, verdict } };
  }
}

function wholeFailover(event: FailoverEvent, { scalars: after }: Allocation): WholeDecision {
  switch (event.type) {
    case 'FailoverPrompted':
      return { ...event, data: { ...event.data, after } };
    case 'FailoverAccepted':
      return { ...event, data: { ...event.data, after } };
    case 'FailoverDeclined':
      return { ...event, data: { ...event.data, after } };
    case 'FailoverVoided':
      return { ...event, data: { ...event.data, after } };
  }
}
