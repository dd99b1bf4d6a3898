import type { Notice } from './notice.ts';

/** `active` is sent to; `gone` has answered 410; `removed` stands in no configuration any more. */
export type ReceiverState = 'active' | 'gone' | 'removed';

/** `skipped` = its question ended before it was due. `failed` = given up, until an operator says otherwise. */
export type NoticeState = 'waiting' | 'delivered' | 'failed' | 'skipped';

/** How the newest try ended; a closed set, never what the receiver said. */
export type TryOutcome = 'delivered' | 'refused' | 'timeout' | 'unreachable';

export interface NoticeReceiver {
  readonly name: string;
  readonly state: ReceiverState;
  /** Up to this position of the log its notices have been made. */
  readonly pos: number;
  readonly since: string;
}

/** How a receiver stands, for metrics and lists. */
export interface ReceiverStanding extends NoticeReceiver {
  /** Due and never tried with an outcome. */
  readonly waiting: number;
  /** Tried without success, or given up. */
  readonly failing: number;
  /** Age of the oldest due notice that was not delivered; 0 when there is none. */
  readonly oldestS: number;
}

/** What the page's overview shows. */
export interface NoticeCounts {
  readonly waiting: number;
  readonly failing: number;
}

export interface ClaimedNotice {
  readonly receiver: string;
  readonly id: string;
  readonly type: string;
  readonly body: string;
  /** This try, from 1. Whoever settles it must name it: a later claim has a higher one. */
  readonly tries: number;
}

export interface ListedNotice {
  readonly receiver: string;
  readonly id: string;
  readonly type: string;
  readonly stream: string;
  readonly question: string | null;
  readonly state: NoticeState;
  readonly notBefore: string;
  readonly tries: number;
  readonly dueAt: string;
  readonly lastOutcome: TryOutcome | null;
  readonly lastStatus: number | null;
}

/** The part of a step that came of one stretch of the log, for one receiver. */
export interface NoticeStep {
  readonly receiver: string;
  /** Where the receiver stood when the stretch was read. */
  readonly from: number;
  readonly to: number;
  readonly notices: readonly Notice[];
  /** Questions that ended in the stretch: what was to be told of their expiry is skipped. */
  readonly ended: readonly string[];
  /** For how long after it was made a notice is tried. */
  readonly giveUpMs: number;
}

export interface FailedTry {
  readonly outcome: Exclude<TryOutcome, 'delivered'>;
  readonly status: number | null;
  readonly pauseMs: number;
  /** The receiver asked for a pause of all notices, so long. */
  readonly receiverPauseMs: number;
  /** It answered 410: nothing more is sent to it until an operator says so. */
  readonly isGone: boolean;
}

/** Notices as they are kept between the log and their receivers: at least once, in order within an allocation. */
export interface NoticeTable {
  /**
   * Makes rows for these receivers, at the head of the log; those that are not named are `removed`, and keep what
   * waits for them. One that comes back goes on where it stood.
   */
  syncReceivers(names: readonly string[]): Promise<void>;
  /**
   * Sets receivers that stand beyond the end of the log back to it: the log was restored from an older copy than this
   * table. They would be told nothing of what is recorded until it has grown to where they stand.
   */
  backToHead(): Promise<void>;
  receivers(): Promise<readonly NoticeReceiver[]>;
  /** Adds a stretch's notices and moves the receiver, both or neither. False when it no longer stood at `from`. */
  add(step: NoticeStep): Promise<boolean>;
  /**
   * Takes at most `limit` due notices for `claimMs`, at most one of an allocation, and none while an earlier one of
   * the same allocation is due or being sent. Nobody else gets them until then.
   */
  claim(receiver: string, limit: number, claimMs: number): Promise<readonly ClaimedNotice[]>;
  delivered(claimed: ClaimedNotice, status: number): Promise<void>;
  failed(claimed: ClaimedNotice, failed: FailedTry): Promise<void>;
  /** Gives a claim back untried, as at a shutdown. */
  release(claimed: ClaimedNotice): Promise<void>;
  standing(): Promise<readonly ReceiverStanding[]>;
  /** Null while no receiver is configured. */
  counts(): Promise<NoticeCounts | null>;
  list(filter: { readonly failedOnly: boolean }, limit: number): Promise<readonly ListedNotice[]>;
  /** Adds a notice that is tried once. */
  addTest(test: { readonly receiver: string; readonly id: string; readonly body: string }): Promise<void>;
  find(receiver: string, id: string): Promise<ListedNotice | null>;
  /**
   * What waits for its next try is due now, and a receiver that was gone is sent to again. With `givenUp` also what
   * was given up. Answers how many; null when there is no such receiver.
   */
  retry(
    receiver: string,
    options: { readonly givenUp: boolean; readonly giveUpMs: number },
  ): Promise<number | null>;
  /** Drops settled rows that are older; at most `limit`; answers how many. */
  dropSettled(
    olderThanMs: { readonly delivered: number; readonly failed: number },
    limit: number,
  ): Promise<number>;
}
