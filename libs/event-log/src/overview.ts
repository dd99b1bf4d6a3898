import type { Pool } from 'pg';
import type { AllocationFilter, StoredAllocation } from '#domain/log-tables';
import { allocationStream } from '#events/streams';
import { type AllocationTableRow, COLUMNS, conditionsOf, storedAllocationOf } from './allocation-table.ts';
import { reading } from './failures.ts';
import { safeInt } from './rows.ts';

/** Every given member must hold. */
export interface ListFilter extends AllocationFilter {
  readonly reason?: string;
  readonly lane?: string;
  /** Hex digits that the ref begins with. */
  readonly refPrefix?: string;
  /** The row was written last by an event at or after, at or before this position. */
  readonly fromPos?: number;
  readonly toPos?: number;
}

export interface ListedAllocation extends StoredAllocation {
  /** When the event that wrote the row last was recorded. */
  readonly at: string;
}

export interface AllocationCounts {
  readonly total: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly byOutcome: Readonly<Record<string, number>>;
  readonly openQuestions: number;
}

/** How far a consumer is behind the log. */
export interface ConsumerLag {
  readonly consumer: string;
  /** Of its partitions the one that is behind most; at least so many where they are more than the look's windows. */
  readonly lagEvents: number;
  /** Age of the oldest event that it has not dealt with, by the store's clock; 0 when there is none. */
  readonly lagS: number;
  readonly updatedAt: string;
}

/** What a page over everything needs: aggregates by the store, from indexes, and pages by position. */
export interface OverviewReads {
  /** Newest change first, before `beforePos`, at most `limit`. */
  newest(filter: ListFilter, limit: number, beforePos?: number): Promise<readonly ListedAllocation[]>;
  counts(): Promise<AllocationCounts>;
  lags(): Promise<readonly ConsumerLag[]>;
}

/** Rows that are looked at on either end of what a consumer has not dealt with. */
const LAG_WINDOW = 5_000;

export function overviewReads(pool: Pool, lagWindow = LAG_WINDOW): OverviewReads {
  return {
    async newest(filter, limit, beforePos) {
      const { where, values } = conditionsOf(filter);
      const add = (condition: (value: string) => string, value: unknown): void => {
        values.push(value);
        where.push(condition(`$${values.length}`));
      };
      if (filter.reason !== undefined) add((value) => `reason = ${value}`, filter.reason);
      if (filter.lane !== undefined) add((value) => `lane = ${value}`, filter.lane);
      if (filter.refPrefix !== undefined) {
        // Behind every hex digit, in the order of bytes.
        add((value) => `stream >= ${value}`, allocationStream(filter.refPrefix));
        add((value) => `stream < ${value}`, `${allocationStream(filter.refPrefix)}g`);
      }
      if (filter.fromPos !== undefined) add((value) => `pos >= ${value}`, filter.fromPos);
      if (filter.toPos !== undefined) add((value) => `pos <= ${value}`, filter.toPos);
      if (beforePos !== undefined) add((value) => `pos < ${value}`, beforePos);
      const { rows } = await reading(() =>
        pool.query<AllocationTableRow & { readonly at: string }>(
          `select page.*,
             (select spillway.iso(e.recorded_at) from spillway.event e where e.pos = page.pos) as at
           from (
             select ${COLUMNS} from spillway.allocation
             where ${['true', ...where].join(' and ')}
             order by pos desc limit $${values.length + 1}
           ) page order by page.pos desc`,
          [...values, limit],
        ),
      );
      return rows.map((row) => ({ ...storedAllocationOf(row), at: row.at }));
    },

    async counts() {
      const [states, questions] = await Promise.all([
        reading(() =>
          pool.query<{ status: string | null; outcome: string | null; count: string }>(
            'select status, outcome, count(*) as count from spillway.allocation group by status, outcome',
          ),
        ),
        reading(() =>
          pool.query<{ count: string }>(
            'select count(*) as count from spillway.allocation where open_question is not null',
          ),
        ),
      ]);
      return {
        ...countsOf(states.rows.map((row) => ({ ...row, count: safeInt(row.count) }))),
        openQuestions: safeInt(questions.rows[0]?.count ?? '0'),
      };
    },

    async lags() {
      const { rows } = await reading(() =>
        pool.query<{ consumer: string; lag: string; lag_s: number; updated_at: string }>(
          // A checkpoint moves with the events of its partition only: where none came, it is as far as it can be. Two
          // windows, at the checkpoint and at the head, bound the look however far apart they are.
          `select c.consumer, coalesce(max(behind.events), 0) as lag,
             coalesce(extract(epoch from clock_timestamp() - min(behind.since)), 0)::float8 as lag_s,
             spillway.iso(max(c.updated_at)) as updated_at
           from spillway.consumer_checkpoint c
           left join lateral (
             select count(*) as events, min(e.recorded_at) as since
             from (
               (select x.pos, x.slot, x.recorded_at from spillway.event x
                where x.pos > c.pos order by x.pos limit $1)
               union
               (select x.pos, x.slot, x.recorded_at from spillway.event x
                where x.pos > c.pos order by x.pos desc limit $1)
             ) e
             where e.slot % c.partition_count = c.partition
           ) behind on true
           group by c.consumer
           order by c.consumer`,
          [lagWindow],
        ),
      );
      return rows.map((row) => ({
        consumer: row.consumer,
        lagEvents: safeInt(row.lag),
        lagS: Math.max(0, Number(row.lag_s.toFixed(1))),
        updatedAt: row.updated_at,
      }));
    },
  };
}

interface StateCount {
  readonly status: string | null;
  readonly outcome: string | null;
  readonly count: number;
}

function countsOf(states: readonly StateCount[]): Omit<AllocationCounts, 'openQuestions'> {
  return {
    total: states.reduce((sum, { count }) => sum + count, 0),
    byStatus: summed(states, ({ status }) => status),
    // What was never launched has none.
    byOutcome: summed(states, ({ outcome }) => (outcome === 'unchanged' ? null : outcome)),
  };
}

/** A half that no command has given yet is in no group. */
function summed(
  states: readonly StateCount[],
  keyOf: (state: StateCount) => string | null,
): Readonly<Record<string, number>> {
  const sums = new Map<string, number>();
  for (const state of states) {
    const key = keyOf(state);
    if (key !== null) sums.set(key, (sums.get(key) ?? 0) + state.count);
  }
  return Object.fromEntries(sums);
}
