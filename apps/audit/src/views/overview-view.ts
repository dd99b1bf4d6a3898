import { LRUCache } from 'lru-cache';
import { type AuditedState, openAlertsOf } from '#domain/audit/audited-state';
import { billsOf } from '#domain/audit/bills';
import type { AlertView, OverviewView } from '#domain/audit/views';
import type { LogReader } from '#domain/log';
import type { Log, StoredAllocation } from '#domain/log-tables';
import type { NoticeTable } from '#domain/prompt/notice-table';
import type { OverviewReads } from '#event-log/overview';
import { refOfStream } from '#events/streams';
import type { Clock } from '#platform/clock';
import { followStream, STREAM_BEGIN, type StreamPlace } from './stream-states.ts';

export type OverviewLog = Pick<LogReader, 'head' | 'at' | 'readStream'> &
  Pick<Log, 'allocations' | 'parked' | 'deadLetters'> & {
    readonly overview: Pick<OverviewReads, 'counts' | 'lags'>;
    readonly notices: Pick<NoticeTable, 'counts'>;
  };

/** What is listed of each kind; the rest is counted as "more". */
const LISTED_MAX = 100;
const FRESH_MS = 1_000;
const KNOWN_STREAMS_MAX = 500;

/** The overview of everything: aggregates by the store, and the allocations that bill or alert folded one by one. */
export class Overviews {
  readonly #log: OverviewLog;
  readonly #clock: Clock;
  /** How far each stream was folded: the next look reads only what is new in it. */
  readonly #places = new LRUCache<string, StreamPlace>({ max: KNOWN_STREAMS_MAX });
  #made: { readonly atMs: number; readonly view: Promise<OverviewView> } | null = null;

  constructor(log: OverviewLog, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** At most a second old: however many ask, the store is asked once a second. Without names. */
  get(): Promise<OverviewView> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#made !== null && nowMs - this.#made.atMs < FRESH_MS) return this.#made.view;
    const made = { atMs: nowMs, view: this.#make() };
    this.#made = made;
    // A failed look is not kept: the next caller asks again.
    made.view.catch(() => {
      if (this.#made === made) this.#made = null;
    });
    return made.view;
  }

  async #make(): Promise<OverviewView> {
    const { overview, allocations, parked, deadLetters, notices } = this.#log;
    const [head, counts, consumers, billing, alerting, parkedRows, letters, counted] = await Promise.all([
      this.#head(),
      overview.counts(),
      overview.lags(),
      allocations.list({ bills: true }, LISTED_MAX + 1),
      allocations.list({ hasAlerts: true }, LISTED_MAX + 1),
      parked.list(),
      deadLetters.count(),
      notices.counts(),
    ]);
    const states = await this.#statesOf([...billing, ...alerting]);
    const at = this.#clock.now();
    const bills = billing.flatMap(({ stream }) => {
      const ref = refOfStream(stream) ?? stream;
      const state = states.get(stream);
      return state === undefined ? [] : billsOf(state, at).map((bill) => ({ ref, ...bill }));
    });
    const alerts = alerting.flatMap(({ stream }) => alertsOf(stream, states.get(stream)));
    const { openQuestions, ...byState } = counts;
    return {
      at,
      head,
      openQuestions,
      allocations: byState,
      bills: bills.slice(0, LISTED_MAX),
      billsMore: bills.length > LISTED_MAX || billing.length > LISTED_MAX,
      alerts: alerts.slice(0, LISTED_MAX),
      alertsMore: alerts.length > LISTED_MAX || alerting.length > LISTED_MAX,
      consumers,
      parked: parkedRows.slice(0, LISTED_MAX).map(({ stream, ...row }) => ({
        ...row,
        ref: refOfStream(stream) ?? stream,
      })),
      deadLetters: letters,
      notices: counted,
    };
  }

  async #head(): Promise<OverviewView['head']> {
    const { pos } = await this.#log.head();
    return { pos, at: (await this.#log.at(pos))?.recordedAt ?? null };
  }

  async #statesOf(rows: readonly StoredAllocation[]): Promise<ReadonlyMap<string, AuditedState>> {
    const streams = [...new Set(rows.map(({ stream }) => stream))];
    return new Map(
      await Promise.all(streams.map(async (stream) => [stream, await this.#stateOf(stream)] as const)),
    );
  }

  async #stateOf(stream: string): Promise<AuditedState> {
    const from = this.#places.get(stream) ?? STREAM_BEGIN;
    const place = await followStream(this.#log, stream, from, () => {});
    this.#places.set(stream, place);
    return place.state;
  }
}

function alertsOf(stream: string, state: AuditedState | undefined): readonly AlertView[] {
  if (state === undefined) return [];
  const ref = refOfStream(stream) ?? stream;
  return openAlertsOf(state).map((raised) => ({ ref, ...raised }));
}
