import type { Explanation } from '../explanation.ts';
import type { StoryLine } from './timeline.ts';

/**
 * What the page and the auditor's HTTP calls answer, as JSON. Times are UTC instants of the log unless a member
 * says otherwise. A name, an invariant or a text is there only for a caller who may unseal (fallback 7):
 * absent = not for this caller, null = it was erased or its retention has ended.
 */

/** One member of the identical allocation, in the order of fallback 4. */
export interface InvariantView {
  readonly member: string;
  readonly value: string | number | boolean | null;
}

/** How a question ended. */
export interface ClosedView {
  readonly at: string;
  readonly how: 'accepted' | 'declined' | 'superseded' | 'withdrawn';
  /** `you`, `local`, or a shortened digest of the subject; the person's name only where it may be unsealed. */
  readonly by: string | null;
  /** Why it ended without an answer, or why a yes led to nothing, in one sentence. */
  readonly why: string | null;
}

/** A question as a person sees it (`GET /api/prompts`, `/api/prompts/:id`, and the stream). */
export interface PromptView {
  /** Event id of the question: what an answer names. */
  readonly id: string;
  /** Event id of the first asking: stays the same over renewals. */
  readonly originId: string;
  readonly ref: string;
  readonly name?: string | null;
  readonly kind: 'pool' | 'failover';
  /** `expired`: its token's life is over; it may still be declined, and reading it again renews it. */
  readonly state: 'open' | 'expired' | 'closed';
  readonly askedAt: string;
  readonly expiresAt: string;
  readonly closed: ClosedView | null;
  /** The question in one sentence, fixed wording. */
  readonly asks: string;
  /** What differs, and nothing else does: from on-demand to preemptible, or from one lane to another. */
  readonly differs: { readonly what: 'pool' | 'lane'; readonly from: string; readonly to: string };
  readonly invariants?: readonly InvariantView[] | null;
  /** Which rule asked, with the recorded reasons. */
  readonly why: { readonly rule: string; readonly sentence: string; readonly lines: readonly Explanation[] };
  /** The newest inputs and decisions that led here, oldest first, at most 12. */
  readonly attempts: readonly Pick<StoryLine, 'pos' | 'at' | 'type' | 'who' | 'what' | 'because'>[];
  readonly onYes: readonly string[];
  readonly onNo: readonly string[];
  /** What an acceptance buys, named once more before it is sent. */
  readonly buys: string;
  readonly costPerHourUsd: number | null;
}

export interface PromptPage {
  readonly prompts: readonly PromptView[];
  /** Give it back as `after` for the next page; null = this was the last. */
  readonly next: string | null;
}

/** `POST /api/prompts/:id/answer` took the answer. */
export interface AnswerTaken {
  readonly ok: true;
  readonly prompt: PromptView;
}

/** State of one allocation after an event (`state --as-of`, and every line of the allocation view). */
export interface StateView {
  /** The last event that this state holds; 0 = none of them can be read. */
  readonly pos: number;
  readonly at: string;
  /**
   * The first event that this version cannot read, and why: the state is as it was before, and nothing more is
   * known of it.
   */
  readonly unreadable: UnreadableView | null;
  readonly record: {
    readonly count: number;
    readonly status: string;
    readonly consent: string;
    readonly pool: string;
    readonly openQuestion: string | null;
  } | null;
  readonly placement: {
    readonly outcome: string | null;
    readonly reason: string | null;
    readonly rule: string | null;
    readonly instance: {
      readonly id: string;
      readonly lane: string;
      readonly pool: string | null;
      readonly rung: string | null;
    } | null;
    /** What the provider last said of it, beside our own state (failover 13). */
    readonly provider: { readonly status: string; readonly observedAt: string } | null;
    readonly openIntent: string | null;
    readonly bills: readonly BillView[];
  } | null;
}

export interface UnreadableView {
  readonly pos: number;
  readonly at: string;
  /** Of a closed set (UnreadableReason). */
  readonly why: string;
}

/** Something of ours that bills. */
export interface BillView {
  readonly instance: string;
  readonly lane: string;
  readonly sinceAt: string;
  readonly costPerHourUsd: number | null;
  /** Cost from `sinceAt` to the moment of the view; null when no price is known. */
  readonly costSoFarUsd: number | null;
}

export interface AllocationLine extends StoryLine {
  readonly state: StateView;
}

/** A bar of the chart: a state that held from one event to another; `to` null = it still holds. */
export interface BarView {
  readonly track: string;
  readonly label: string;
  /** A closed set that the page knows a colour for. */
  readonly tone: 'calm' | 'asked' | 'moving' | 'bad' | 'good';
  readonly from: string;
  readonly to: string | null;
}

/** `GET /api/audit/allocations/:ref`. */
export interface AllocationView {
  readonly ref: string;
  readonly name?: string | null;
  readonly erased: boolean;
  readonly upTo: number;
  /** Moment of the view: what bills is counted up to it. */
  readonly at: string;
  readonly now: StateView;
  readonly lines: readonly AllocationLine[];
  readonly bars: readonly BarView[];
  /** Older lines exist: ask with `before` = this position. */
  readonly earlier: number | null;
}

/** `GET /api/audit/allocations`: a row of the list. */
export interface AllocationListRow {
  readonly ref: string;
  readonly name?: string | null;
  readonly status: string | null;
  /** Null = never launched; a record that is `consented` may then use preemptible capacity by whoever reported it. */
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly lane: string | null;
  readonly instance: string | null;
  readonly openQuestion: string | null;
  readonly bills: boolean;
  readonly pos: number;
  readonly at: string;
}

export interface AllocationList {
  readonly rows: readonly AllocationListRow[];
  readonly next: string | null;
}

/** An alert that was raised and has not ended (failover 13). */
export interface AlertView {
  readonly ref: string;
  readonly name?: string | null;
  readonly alert: string;
  readonly subject: string;
  readonly at: string;
  readonly pos: number;
}

/** `GET /api/audit/overview`. */
export interface OverviewView {
  readonly at: string;
  readonly head: { readonly pos: number; readonly at: string | null };
  readonly openQuestions: number;
  readonly allocations: {
    readonly total: number;
    readonly byStatus: Readonly<Record<string, number>>;
    readonly byOutcome: Readonly<Record<string, number>>;
  };
  readonly bills: readonly (BillView & { readonly ref: string; readonly name?: string | null })[];
  /** There are more than are listed. */
  readonly billsMore: boolean;
  readonly alerts: readonly AlertView[];
  readonly alertsMore: boolean;
  readonly consumers: readonly {
    readonly consumer: string;
    readonly lagEvents: number;
    /** Age of the oldest event that it has not dealt with; 0 when there is none. */
    readonly lagS: number;
    readonly updatedAt: string;
  }[];
  readonly parked: readonly {
    readonly consumer: string;
    readonly ref: string;
    readonly name?: string | null;
    readonly firstPos: number;
    readonly reason: string;
    readonly tries: number;
    readonly parkedAt: string;
    readonly state: string;
  }[];
  readonly deadLetters: number;
  /** Outgoing notices that were not delivered yet. */
  readonly notices: { readonly waiting: number; readonly failing: number } | null;
}

/** Who looks: `GET /api/me`. */
export interface CallerView {
  readonly subject: string;
  /** False = everyone is `local` and may do everything; the page says so. */
  readonly authenticated: boolean;
  readonly may: {
    readonly consent: boolean;
    readonly audit: boolean;
    readonly unseal: boolean;
    readonly operate: boolean;
  };
}
