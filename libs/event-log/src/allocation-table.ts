import type { Pool } from 'pg';
import type { PlacementRow } from '#domain/log';
import type { AllocationFilter, AllocationTable, Marks, StoredAllocation } from '#domain/log-tables';
import { reading } from './failures.ts';
import { safeInt } from './rows.ts';

/** Columns of a row, under the names of AllocationTableRow. */
export const COLUMNS = `
  stream, status, open_question, spillway.iso(question_expires_at) as question_expires_at,
  outcome, reason, lane, instance, open_intent, needs_worker, spillway.iso(wake_at) as wake_at,
  spillway.iso(retry_at) as retry_at, bills, alerts, decision_version, pos`;

export interface AllocationTableRow {
  readonly stream: string;
  readonly status: string | null;
  readonly open_question: string | null;
  readonly question_expires_at: string | null;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly lane: string | null;
  readonly instance: string | null;
  readonly open_intent: string | null;
  readonly needs_worker: boolean | null;
  readonly wake_at: string | null;
  readonly retry_at: string | null;
  readonly bills: boolean | null;
  readonly alerts: number | null;
  readonly decision_version: number;
  readonly pos: string;
}

/** The candidate list of passes and pages. Only an append writes it. */
export function allocationTable(pool: Pool): AllocationTable {
  async function rows(text: string, values: readonly unknown[]): Promise<readonly StoredAllocation[]> {
    const found = await reading(() => pool.query<AllocationTableRow>(text, [...values]));
    return found.rows.map(storedAllocationOf);
  }

  return {
    list(filter, limit, afterStream = '') {
      const { where, values } = conditionsOf(filter);
      return rows(
        `select ${COLUMNS} from spillway.allocation
         where ${[...where, `stream > $${values.length + 1}`].join(' and ')}
         order by stream limit $${values.length + 2}`,
        [...values, afterStream, limit],
      );
    },

    async get(stream) {
      const [row] = await rows(`select ${COLUMNS} from spillway.allocation where stream = $1`, [stream]);
      return row ?? null;
    },

    async count(filter) {
      const { where, values } = conditionsOf(filter);
      const found = await reading(() =>
        pool.query<{ count: string }>(
          `select count(*) as count from spillway.allocation where ${['true', ...where].join(' and ')}`,
          [...values],
        ),
      );
      return safeInt(found.rows[0]?.count ?? '0');
    },
  };
}

/** Marks of a stream: the newest observation of each instance that changed nothing. */
export function marks(pool: Pool): Marks {
  return {
    async of(stream) {
      const { rows } = await reading(() =>
        pool.query<{ instance: string; observed_at: string }>(
          `select instance, spillway.iso(observed_at) as observed_at from spillway.mark
           where stream = $1 order by instance`,
          [stream],
        ),
      );
      return rows.map((row) => ({ instance: row.instance, observedAt: row.observed_at }));
    },
  };
}

/** A filter as conditions with numbered parameters; more may be added behind them. */
export function conditionsOf(filter: AllocationFilter): {
  readonly where: string[];
  readonly values: unknown[];
} {
  const where: string[] = [];
  const values: unknown[] = [];
  const add = (condition: string, value: unknown): void => {
    values.push(value);
    where.push(condition.replace('?', `$${values.length}`));
  };
  const flag = (wanted: boolean | undefined, whenTrue: string, whenFalse: string): void => {
    if (wanted !== undefined) where.push(wanted ? whenTrue : whenFalse);
  };

  if (filter.status !== undefined) add('status = ?', filter.status);
  flag(filter.hasOpenQuestion, 'open_question is not null', 'open_question is null');
  flag(filter.hasOpenIntent, 'open_intent is not null', 'open_intent is null');
  flag(filter.bills, 'bills', 'bills is not true');
  flag(filter.hasAlerts, 'alerts > 0', '(alerts > 0) is not true');
  if (filter.outcome !== undefined) add('outcome = ?', filter.outcome);
  if (filter.workDueAt !== undefined) {
    add('needs_worker and (wake_at is null or wake_at <= ?::timestamptz)', filter.workDueAt);
  }
  if (filter.retryDueAt !== undefined) add('retry_at <= ?::timestamptz', filter.retryDueAt);
  if (filter.questionExpiresBy !== undefined) {
    add('question_expires_at <= ?::timestamptz', filter.questionExpiresBy);
  }
  if (filter.partition !== undefined) {
    add('slot % ?::integer', filter.partition.count);
    add(`${where.pop()} = ?`, filter.partition.index);
  }
  return { where, values };
}

export function storedAllocationOf(row: AllocationTableRow): StoredAllocation {
  return {
    stream: row.stream,
    decisionVersion: row.decision_version,
    pos: safeInt(row.pos),
    record: recordHalfOf(row),
    placement: placementHalfOf(row),
  };
}

function recordHalfOf({ status, open_question, question_expires_at }: AllocationTableRow) {
  if (status === null) return null;
  return { status, openQuestion: open_question, questionExpiresAt: question_expires_at };
}

function placementHalfOf(row: AllocationTableRow): PlacementRow | null {
  const { outcome, needs_worker, bills } = row;
  if (outcome === null || needs_worker === null || bills === null) return null;
  return {
    outcome,
    reason: row.reason,
    lane: row.lane,
    instance: row.instance,
    openIntent: row.open_intent,
    needsWorker: needs_worker,
    wakeAt: row.wake_at,
    retryAt: row.retry_at,
    bills,
    alerts: row.alerts,
  };
}
