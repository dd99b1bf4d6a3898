import type { QueryConfig, QueryResult, QueryResultRow } from 'pg';
import type { LogHead, LogReader, Partition } from '#domain/log';
import { type RecordedEvent, ZERO_HASH } from '#events/envelope';
import { reading } from './failures.ts';
import { EVENT_COLUMNS, type EventRow, eventOf, safeInt } from './rows.ts';

/** A pool, or one connection inside a transaction of its own. */
export interface Queryable {
  query<Row extends QueryResultRow>(config: QueryConfig): Promise<QueryResult<Row>>;
}

/** Reads of the log, each one named statement with an index of its own. Order is always stated. */
export function logReader(pool: Queryable): LogReader {
  let knownLogId: string | null = null;

  async function events(
    name: string,
    text: string,
    values: readonly unknown[],
  ): Promise<readonly RecordedEvent[]> {
    const { rows } = await reading(() => pool.query<EventRow>({ name, text, values: [...values] }));
    return rows.map(eventOf);
  }

  async function one(name: string, text: string, values: readonly unknown[]): Promise<RecordedEvent | null> {
    const [event] = await events(name, text, values);
    return event ?? null;
  }

  return {
    async logId(): Promise<string> {
      knownLogId ??= await reading(() => readLogId(pool));
      return knownLogId;
    },

    async head(): Promise<LogHead> {
      const { rows } = await reading(() =>
        pool.query<{ pos: string; hash: string }>({
          name: 'head',
          text: 'select pos, hash from spillway.event order by pos desc limit 1',
        }),
      );
      const [row] = rows;
      return row ? { pos: safeInt(row.pos), hash: row.hash } : { pos: 0, hash: ZERO_HASH };
    },

    at: (pos) => one('at', `select ${EVENT_COLUMNS} from spillway.event where pos = $1`, [pos]),

    readAfter(pos: number, limit: number, partition?: Partition) {
      if (partition === undefined) {
        return events(
          'after',
          `select ${EVENT_COLUMNS} from spillway.event where pos > $1 order by pos limit $2`,
          [pos, limit],
        );
      }
      return events(
        'after-of-partition',
        `select ${EVENT_COLUMNS} from spillway.event
         where pos > $1 and slot % $3::integer = $4 order by pos limit $2`,
        [pos, limit, partition.count, partition.index],
      );
    },

    readStream: (stream, version, limit) =>
      events(
        'of-stream',
        `select ${EVENT_COLUMNS} from spillway.event
         where stream = $1 and stream_version > $2 order by stream_version limit $3`,
        [stream, version, limit],
      ),

    byEventId: (eventId) =>
      one('by-event-id', `select ${EVENT_COLUMNS} from spillway.event where event_id = $1`, [eventId]),

    // The newest of each type by its own index range, then the newest of those: one range over several types
    // would read every decision of the stream.
    newestDecisions: (stream, types, limit, upToDecisionVersion) =>
      events(
        'newest-decisions',
        `select ${EVENT_COLUMNS} from (select distinct unnest($2::text[]) as wanted) t
         cross join lateral (
           select * from spillway.event
           where stream = $1 and type = t.wanted and role = 'decision'
             and decision_version <= $4
           order by decision_version desc limit $3
         ) newest
         order by decision_version desc limit $3`,
        [stream, types, limit, upToDecisionVersion ?? 2_147_483_647],
      ),

    async decisionVersion(stream: string): Promise<number | null> {
      const { rows } = await reading(() =>
        pool.query<{ decision_version: number }>({
          name: 'decision-version',
          text: `select decision_version from spillway.event
                 where stream = $1 order by stream_version desc limit 1`,
          values: [stream],
        }),
      );
      return rows[0]?.decision_version ?? null;
    },
  };
}

async function readLogId(pool: Queryable): Promise<string> {
  const { rows } = await pool.query<{ log_id: string }>({ text: 'select log_id from spillway.log_meta' });
  const [row] = rows;
  if (!row) throw new Error('spillway.log_meta has no row: the schema was not made by its migrations');
  return row.log_id;
}
