import type { KnownEvent } from '#events/catalogue';
import type { Placement } from '../placement.ts';

/** The event that first asked a question. */
export type QuestionAsked = Extract<KnownEvent, { readonly type: 'FallbackPrompted' | 'FailoverPrompted' }>;

const QUESTION_EVENTS = [
  'FallbackPrompted',
  'FailoverPrompted',
] as const satisfies readonly QuestionAsked['type'][];

export function isQuestionAsked(event: KnownEvent): event is QuestionAsked {
  return QUESTION_EVENTS.some((type) => type === event.type);
}

/** How a question ended: the decision after which it was no longer open, and what the same command recorded behind it. */
export interface QuestionEnd {
  readonly by: KnownEvent;
  readonly behind: readonly KnownEvent[];
}

/** All that is recorded of one question, for showing it. */
export interface RecordedQuestion {
  readonly asked: QuestionAsked;
  /** The id under which it is open now, or was last. */
  readonly id: string;
  /** When the life of the token under that id ends, or ended. */
  readonly expiresAt: string;
  /** Null = it is open. */
  readonly end: QuestionEnd | null;
  /** Newest events of the stream before the asking, oldest first: a window, not all. */
  readonly before: readonly KnownEvent[];
  /** The placement that it was asked about; null for the pool question. */
  readonly placement: Placement | null;
}
