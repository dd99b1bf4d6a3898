import type { DataOfType, EventType, KnownEvent } from '#events/catalogue';
import { readMeta } from '#events/upcast';
import { isAttemptDecision } from '../allocation.ts';
import type { Classification } from '../classify/classify.ts';
import { NOTHING_FAILED, TEXT_GONE } from '../classify/sealed-failure.ts';
import { decideAnswer } from '../consent/failover-answer.ts';
import type { Fact, Standing } from '../fact.ts';
import { decideAttempt, type PromptRules } from '../prompt/prompt.ts';
import { renewPrompt } from '../prompt/renewal.ts';
import { decideLaunch } from '../provision/decide-launch.ts';
import { judgeObservation } from '../watch/judge.ts';

/** The inputs that a rule answers with a decision. */
export type JudgedInputType =
  | 'AttemptReported'
  | 'ObservationReported'
  | 'ConsentAnswered'
  | 'LaunchRequested';

/** A recorded input, kept until its decision is read. */
export type JudgedInput = {
  [Type in JudgedInputType]: {
    readonly type: Type;
    readonly pos: number;
    readonly eventId: string;
    readonly recordedAt: string;
    readonly data: DataOfType<Type>;
    /** Of an attempt: what its sealed failure is today; null = it cannot be read, and what was recorded stands. */
    readonly classification: Classification | null;
  };
}[JudgedInputType];

/** The input in an event; null for an event that is none. */
export function judgedInput(
  event: KnownEvent,
  classification: Classification | null = null,
): JudgedInput | null {
  const { pos, eventId, recordedAt } = event.row;
  const place = { pos, eventId, recordedAt, classification };
  switch (event.type) {
    case 'AttemptReported':
      return { ...place, type: event.type, data: event.data };
    case 'ObservationReported':
      return { ...place, type: event.type, data: event.data };
    case 'ConsentAnswered':
      return { ...place, type: event.type, data: event.data };
    case 'LaunchRequested':
      return { ...place, type: event.type, data: event.data };
    default:
      return null;
  }
}

/** What today's rules make of an input: facts in order, or why they decide nothing. */
export type DecidedAgain =
  | { readonly kind: 'facts'; readonly facts: readonly Fact[] }
  | { readonly kind: 'nothing'; readonly why: string };

/** Decisions that cannot stand without the input that they answer. */
const NEEDS_INPUT: readonly EventType[] = [
  'ObservationJudged',
  'ConsentAccepted',
  'ConsentDeclined',
  'FailoverAccepted',
  'FailoverDeclined',
  'LaunchAccepted',
];

/**
 * Decides again what the decisions of one command decided, on the state that they saw (design 4). Ids, times and
 * keyed digests are the recorded ones: no rule can know them. Null = no input and no rule of this kind is behind
 * it, such as a provider's answer.
 */
export function decideCommandAgain(
  before: Standing,
  decisions: readonly KnownEvent[],
  input: JudgedInput | null,
  rules: PromptRules,
): DecidedAgain | null {
  const [first] = decisions;
  if (first === undefined) return null;
  try {
    return input === null
      ? withoutInput(before, first, rules)
      : withInput(before, decisions, first, input, rules);
  } catch (error) {
    // A rule that meets an impossible state says which: in words of ours, never of a caller.
    return nothing(`impossible: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function withoutInput({ record }: Standing, first: KnownEvent, rules: PromptRules): DecidedAgain | null {
  if (first.type === 'PromptRenewed') {
    const { eventId, occurredAt } = first.row;
    const { tokenLifeS } = rules;
    const renewed = renewPrompt(record, { at: occurredAt, decisionId: eventId, tokenLifeS });
    return renewed === null
      ? nothing('no question has to be renewed')
      : facts({ type: first.type, data: renewed.data });
  }
  const isUncaused = isAttemptDecision(first) || NEEDS_INPUT.includes(first.type);
  return isUncaused ? nothing('no input caused it') : null;
}

function withInput(
  before: Standing,
  decisions: readonly KnownEvent[],
  first: KnownEvent,
  input: JudgedInput,
  rules: PromptRules,
): DecidedAgain {
  switch (input.type) {
    case 'AttemptReported': {
      const decided = decideAttempt(
        before.record,
        {
          input: input.data,
          recordedAt: input.recordedAt,
          decidedAt: first.row.occurredAt,
          decisionId: first.row.eventId,
          classification: input.classification ?? recordedClassification(first),
        },
        rules,
      );
      return facts(decided);
    }
    case 'ObservationReported':
      return facts(...judgedAgain(before, decisions, input.data, rules));
    case 'ConsentAnswered': {
      const outcome = decideAnswer(before.placement, before.record, {
        accept: input.data.accept,
        question: input.data.questionId,
        // A token is never stored: that the answer was recorded says that it matched.
        tokenMatches: true,
        answeredBy: input.data.answeredBy,
        decisionId: first.row.eventId,
        at: first.row.occurredAt,
      });
      return outcome.kind === 'refused' ? nothing(`refused: ${outcome.why}`) : facts(...outcome.facts);
    }
    case 'LaunchRequested': {
      const { plan, requestDigest, workloadDigest } = input.data;
      const launch = { launch: input.eventId, plan, requestDigest, workloadDigest };
      const decided = decideLaunch(before.placement, launch);
      return decided.kind === 'refused'
        ? nothing(`refused: ${decided.why}`)
        : facts({ type: 'LaunchAccepted', data: decided.accepted });
    }
  }
}

function judgedAgain(
  { record, placement }: Standing,
  decisions: readonly KnownEvent[],
  { observation }: DataOfType<'ObservationReported'>,
  { tokenLifeS }: PromptRules,
): readonly Fact[] {
  const prompt = decisions.find((event) => event.type === 'FailoverPrompted');
  const judged = decisions.find((event) => event.type === 'ObservationJudged');
  const digests: Readonly<Record<string, string | undefined>> = {
    'failover-action': prompt?.data.actionDigest,
    'failover-evidence': prompt?.data.evidenceDigest,
  };
  const askedAt = prompt?.data.askedAt ?? decisions[0]?.row.recordedAt ?? observation.observedAt;
  return judgeObservation(placement, record, observation, {
    mark: judged?.data.mark ?? null,
    question: { ref: '', askedAt, tokenLifeS, digestOf: (label) => digests[label] ?? UNKNOWN_DIGEST },
    eventIdAt: (index) => decisions[index]?.row.eventId ?? '',
  });
}

const UNKNOWN_DIGEST = '0'.repeat(64);

/** What the decision itself says of a failure whose text is not there any more. */
function recordedClassification(decision: KnownEvent): Classification {
  if (decision.type !== 'AttemptTracked' && decision.type !== 'FallbackPrompted') return NOTHING_FAILED;
  const { category, qualifying, explanation } = decision.data;
  const rule = explanation.find((code) => code.startsWith(RULE))?.slice(RULE.length);
  return { category, qualifying, rule: rule ?? TEXT_GONE.rule };
}

const RULE = 'rule:';

/** Event id of the input that the decisions of a command name; null = they name none. */
export function causeOf(decisions: readonly KnownEvent[]): string | null {
  const [first] = decisions;
  return first === undefined ? null : readMeta(first.row).causedBy;
}

function facts(...decided: readonly Fact[]): DecidedAgain {
  return { kind: 'facts', facts: decided };
}

function nothing(why: string): DecidedAgain {
  return { kind: 'nothing', why };
}
