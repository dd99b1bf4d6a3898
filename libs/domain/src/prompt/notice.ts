import { canonicalJson } from '#events/canonical-json';
import type { ConsumedBy, KnownEvent } from '#events/catalogue';
import { eventIdOf } from '#events/envelope';
import { instantMs, plusSeconds } from '#events/instant';
import type { OpenQuestion } from '#events/scalars';
import { allocationRefOf } from '#events/streams';
import { ALLOCATION_EVENTS, type AllocationDecision, isAllocationDecision } from '../allocation.ts';
import { howEnded } from './prompt-end.ts';

/** What an outside receiver may be told of; `notice.test` is sent by hand only. */
export const NOTICE_TYPES = [
  'question.opened',
  'question.expiring',
  'question.closed',
  'alert.raised',
] as const;
export type NoticeType = (typeof NOTICE_TYPES)[number];

/** One notice, the same bytes for every receiver and every try. */
export interface Notice {
  /** The receiver's key to tell a repeat: derived from the event and what is told of it. */
  readonly id: string;
  readonly type: NoticeType;
  readonly stream: string;
  readonly pos: number;
  /** Order of the notices of one event. */
  readonly seq: number;
  /** The question that it tells of; null for an alert. */
  readonly question: string | null;
  /** Not to be sent before this instant. */
  readonly notBefore: string;
  /** JSON without any name, text or token: ids, digests and members of closed sets (fallback 7). */
  readonly body: string;
}

export interface NoticeRules {
  /** Origin of the page, without a slash at its end. */
  readonly publicUrl: string;
  /** How long before its end an open question is told of again, in seconds. */
  readonly beforeExpiryS: number;
}

/** What one event of the log has to tell, and the question that ends with it. */
export interface Told {
  readonly notices: readonly Notice[];
  readonly closes: string | null;
}

/** Events that notices are made of: all that open or end a question, and alerts. */
const NOTICED_EVENTS = [
  ...ALLOCATION_EVENTS,
  'AlertRaised',
] as const satisfies readonly ConsumedBy<'consent'>[];

export function isNoticed(type: string): boolean {
  return NOTICED_EVENTS.some((noticed) => noticed === type);
}

/**
 * Whether the question that was open before an event has to be known to tell what it means. Almost every event of
 * a log is an attempt that keeps its record: it neither opens nor ends a question (fallback 3).
 */
export function mayEndQuestion(event: KnownEvent): event is AllocationDecision {
  if (!isAllocationDecision(event)) return false;
  const keeps = event.type === 'AttemptTracked' || event.type === 'AttemptIgnored';
  return !keeps || event.data.record === 'opened';
}

/** The notices of one event; `before` is the question that was open before it. */
export function noticesOf(event: KnownEvent, before: OpenQuestion | null, rules: NoticeRules): Told {
  if (event.type === 'AlertRaised') return { notices: [alertNotice(event, rules)], closes: null };
  if (!mayEndQuestion(event)) return NOTHING;

  const after = event.data.after.openQuestion;
  if (after?.eventId === before?.eventId) return NOTHING;
  const closed = before === null ? [] : [closedNotice(event, before, rules)];
  const opened = after === null ? [] : openedNotices(event, after, rules);
  return { notices: [...closed, ...opened], closes: before?.eventId ?? null };
}

/** What a stretch of the log has to tell, and the questions that ended in it. */
export interface ToldStretch {
  readonly notices: readonly Notice[];
  readonly ended: readonly string[];
}

/** Without those that have come to nothing: a question that has ended is not about to expire. */
export function withoutEnded(told: readonly Told[]): ToldStretch {
  const ended = told.flatMap(({ closes }) => (closes === null ? [] : [closes]));
  const notices = told
    .flatMap((each) => each.notices)
    .filter(({ type, question }) => type !== 'question.expiring' || !ended.includes(question ?? ''));
  return { notices, ended };
}

/** What an operator sends to see whether a receiver works: it tells of nothing. */
export function testNotice(receiver: string, at: string): string {
  return canonicalJson({ type: 'notice.test', timestamp: at, data: { receiver } });
}

const NOTHING: Told = { notices: [], closes: null };

type Alert = Extract<KnownEvent, { readonly type: 'AlertRaised' }>;

function alertNotice({ row, data }: Alert, rules: NoticeRules): Notice {
  const ref = allocationRefOf(row.stream);
  const told = { ref, alert: data.alert, url: `${rules.publicUrl}/allocations/${ref}` };
  return noticeOf({ row, type: 'alert.raised', seq: 0, question: null, at: row.recordedAt }, told);
}

function closedNotice(event: AllocationDecision, question: OpenQuestion, rules: NoticeRules): Notice {
  const { row } = event;
  const of = {
    row,
    type: 'question.closed',
    seq: 0,
    question: question.eventId,
    at: row.recordedAt,
  } as const;
  return noticeOf(of, { ...questionMembers(row.stream, question, rules), reason: howEnded(event) });
}

function openedNotices(
  event: AllocationDecision,
  question: OpenQuestion,
  rules: NoticeRules,
): readonly Notice[] {
  const { row } = event;
  const reason = reasonOf(event);
  // Open since before the event: only the record before it could not be read.
  if (reason === null) return [];
  const told = { ...questionMembers(row.stream, question, rules), reason };
  const of = { row, question: question.eventId };
  const lifeS = (instantMs(question.expiresAt) - instantMs(row.recordedAt)) / 1_000;
  // A life shorter than twice the warning would be warned of as soon as it begins.
  const before = Math.min(rules.beforeExpiryS, Math.max(0, lifeS) / 2);
  const expiring = plusSeconds(question.expiresAt, -before);
  return [
    noticeOf({ ...of, type: 'question.opened', seq: 1, at: row.recordedAt }, told),
    noticeOf({ ...of, type: 'question.expiring', seq: 2, at: expiring }, told),
  ];
}

function questionMembers(stream: string, question: OpenQuestion, rules: NoticeRules) {
  return {
    ref: allocationRefOf(stream),
    question_id: question.eventId,
    origin_id: question.originId,
    kind: question.kind,
    expires_at: question.expiresAt,
    url: `${rules.publicUrl}/prompts/${question.eventId}`,
  };
}

/** Why it is asked, a member of a closed set; null for an event that asks nothing. */
function reasonOf(event: AllocationDecision): string | null {
  switch (event.type) {
    case 'FallbackPrompted':
      return event.data.reason;
    case 'FailoverPrompted':
      return event.data.escalation.trigger;
    case 'PromptRenewed':
      return 'renewed';
    default:
      return null;
  }
}

interface NoticeOf {
  readonly row: KnownEvent['row'];
  readonly type: NoticeType;
  readonly seq: number;
  readonly question: string | null;
  readonly at: string;
}

function noticeOf(
  { row, type, seq, question, at }: NoticeOf,
  data: Readonly<Record<string, string>>,
): Notice {
  return {
    id: `msg_${eventIdOf(`${type} ${row.eventId}`, 0)}`,
    type,
    stream: row.stream,
    pos: row.pos,
    seq,
    question,
    notBefore: at,
    body: canonicalJson({ type, timestamp: at, data }),
  };
}
