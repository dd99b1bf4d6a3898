import type { KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import { readMeta } from '#events/upcast';
import { evolveRecorded, UNKNOWN_ALLOCATION } from '../allocation.ts';
import { type Explanation, explanations } from '../explanation.ts';
import type { Fact, Standing } from '../fact.ts';
import { NOT_PLACED } from '../placement.ts';
import { evolveRecordedPlacement } from '../placement-fold.ts';
import type { PromptRules } from '../prompt/prompt.ts';
import { type Compared, differing } from './differing.ts';
import {
  type DecidedAgain,
  decideCommandAgain,
  type JudgedInput,
  type JudgedInputType,
} from './rejudge-command.ts';
import { verdictLines } from './verdict-lines.ts';

/** A decision in words of ours: what was decided, and why. */
export interface DecidedView {
  /** Event types of the facts, in order, joined by ` + `; or why nothing is decided. */
  readonly decided: string;
  readonly reason: string | null;
  readonly category: string | null;
  readonly qualifying: boolean | null;
  readonly explanation: readonly Explanation[];
}

/** A member in which the two differ, by its path; `recorded` or `today` is null where it has none. */
export interface DifferingMember {
  readonly member: string;
  readonly recorded: Compared;
  readonly today: Compared;
}

/** A recorded decision that today's rules would have made otherwise, with both explanations. */
export interface DecisionDifference {
  readonly stream: string;
  /** Position of the decision; of several facts, of the first. */
  readonly pos: number;
  readonly at: string;
  /** What it answers; null = no input caused it. */
  readonly input: { readonly type: JudgedInputType; readonly pos: number } | null;
  /** The decision version that it saw; null = it does not say. */
  readonly saw: number | null;
  readonly recorded: DecidedView;
  readonly today: DecidedView;
  readonly members: readonly DifferingMember[];
}

/** What a decision that was decided again is: the same, the same for another reason, or another one. */
export type Comparison =
  | { readonly kind: 'not_decided_again' | 'same' | 'explained_otherwise' }
  | { readonly kind: 'differs'; readonly difference: DecisionDifference };

/** The state of a stream before its first event. */
export const NOTHING_DECIDED: Standing = { record: UNKNOWN_ALLOCATION, placement: NOT_PLACED };

/**
 * The state after the events of one command, inputs among them; the provenance, which no rule asks for, is left
 * out. Null when one of them cannot have happened there.
 */
export function standingAfter(before: Standing, events: readonly KnownEvent[]): Standing | null {
  try {
    return events.reduce<Standing>(
      ({ record, placement }, event) => ({
        record: { ...evolveRecorded(record, event), provenance: [] },
        placement: evolveRecordedPlacement(placement, event),
      }),
      before,
    );
  } catch {
    return null;
  }
}

/**
 * Compares the decisions of one command with what today's rules decide on the state that they saw. Recorded
 * state is never replaced by today's: each decision is judged by itself, so one changed rule does not make all
 * that follows differ.
 */
export function compareDecisions(
  before: Standing,
  decisions: readonly KnownEvent[],
  input: JudgedInput | null,
  rules: PromptRules,
): Comparison {
  const [first] = decisions;
  if (first === undefined) return { kind: 'not_decided_again' };
  const again = decideCommandAgain(before, decisions, input, rules);
  if (again === null) return { kind: 'not_decided_again' };
  const { saw } = readMeta(first.row);
  const members = [
    ...differingMembers(first.row, decisions, again),
    ...(saw === null || saw === before.record.version
      ? []
      : [{ member: 'saw', recorded: saw, today: before.record.version }]),
  ];
  if (members.length === 0) return { kind: 'same' };
  if (members.every(({ member }) => isExplanation(member))) return { kind: 'explained_otherwise' };
  const { stream, pos, recordedAt } = first.row;
  const difference = {
    stream,
    pos,
    at: recordedAt,
    input: input === null ? null : { type: input.type, pos: input.pos },
    saw,
    recorded: viewOf(decisions),
    today: again.kind === 'facts' ? viewOf(again.facts) : nothingDecided(again.why),
    members,
  };
  return { kind: 'differs', difference };
}

/** An event that this version cannot read: what was decided there and behind it cannot be decided again. */
export function unreadableDifference(row: RecordedEvent, why: string): DecisionDifference {
  const { stream, pos, recordedAt, type, schemaVersion } = row;
  return {
    stream,
    pos,
    at: recordedAt,
    input: null,
    saw: null,
    recorded: nothingDecided(`${type} v${schemaVersion}`),
    today: nothingDecided(`unreadable: ${why}`),
    members: [{ member: 'event', recorded: type, today: null }],
  };
}

/** Told apart from what is decided: the rule, its facts and the conditions that failed may change alone. */
function isExplanation(member: string): boolean {
  return member.split('.').some((name) => EXPLANATIONS.includes(name));
}

const EXPLANATIONS = ['explanation', 'rule', 'evidence', 'notFired'];

function differingMembers(
  row: RecordedEvent,
  decisions: readonly KnownEvent[],
  again: DecidedAgain,
): readonly DifferingMember[] {
  const theirs = decisions.map(({ type, data }) => ({ type, data }));
  const ours = again.kind === 'facts' ? again.facts : [];
  return Array.from({ length: Math.max(theirs.length, ours.length) }, (_none, index) => {
    const [one, other] = [theirs[index], ours[index]];
    if (one?.type !== other?.type) {
      return [
        { member: memberAt(index, 'decided'), recorded: one?.type ?? null, today: other?.type ?? null },
      ];
    }
    return differing(row, memberAt(index, one?.type ?? ''), one?.data, other?.data).map(
      ({ member, recorded, folded: today }) => ({ member, recorded, today }),
    );
  }).flat();
}

function memberAt(index: number, name: string): string {
  return index === 0 ? name : `${index + 1}.${name}`;
}

function nothingDecided(why: string): DecidedView {
  return { decided: why, reason: null, category: null, qualifying: null, explanation: [] };
}

/** The decisive fact of several is the last that says an outcome. */
function viewOf(decided: readonly Pick<Fact, 'type' | 'data'>[]): DecidedView {
  const said = decided.map(({ data }) => data);
  const verdict = said.flatMap((data) => ('verdict' in data ? [data.verdict] : [])).at(-1);
  const [first] = said;
  const reason = first !== undefined && 'reason' in first ? first.reason : (verdict?.reason ?? null);
  const classified = first !== undefined && 'category' in first ? first : null;
  return {
    decided: decided.map(({ type }) => type).join(' + '),
    reason,
    category: classified?.category ?? null,
    qualifying: classified?.qualifying ?? null,
    explanation: [
      ...(first !== undefined && 'explanation' in first ? explanations(first.explanation) : []),
      ...(verdict === undefined ? [] : verdictLines(verdict)),
    ],
  };
}
