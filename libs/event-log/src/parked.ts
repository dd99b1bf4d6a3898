import type { Pool } from 'pg';
import type { HandlerTries, ParkedStream, ParkedStreams, ParkReason, ParkState } from '#domain/log-tables';
import { reading } from './failures.ts';
import { safeInt } from './rows.ts';

const COLUMNS = 'consumer, stream, first_pos, reason, tries, spillway.iso(parked_at) as parked_at, state';

interface ParkedRow {
  readonly consumer: string;
  readonly stream: string;
  readonly first_pos: string;
  readonly reason: ParkReason;
  readonly tries: number;
  readonly parked_at: string;
  readonly state: ParkState;
}

/** Streams that wait for an operator, by consumer. */
export function parkedStreams(pool: Pool): ParkedStreams {
  async function rows(text: string, values: readonly unknown[]): Promise<readonly ParkedStream[]> {
    const found = await reading(() => pool.query<ParkedRow>(text, [...values]));
    return found.rows.map((row) => ({
      consumer: row.consumer,
      stream: row.stream,
      firstPos: safeInt(row.first_pos),
      reason: row.reason,
      tries: row.tries,
      parkedAt: row.parked_at,
      state: row.state,
    }));
  }

  return {
    async park(row) {
      // Parked once more after a requeue, it is the same first event that waits again.
      await rows(
        `insert into spillway.parked as p (consumer, stream, first_pos, reason, tries)
         values ($1, $2, $3, $4, $5)
         on conflict (consumer, stream) do update
         set first_pos = least(p.first_pos, excluded.first_pos), reason = excluded.reason,
             tries = greatest(p.tries, excluded.tries), state = 'parked'
         returning ${COLUMNS}`,
        [row.consumer, row.stream, row.firstPos, row.reason, row.tries],
      );
    },

    async parkAgain(row) {
      await rows(
        `update spillway.parked set first_pos = $3, reason = $4, tries = $5, state = 'parked'
         where consumer = $1 and stream = $2 returning ${COLUMNS}`,
        [row.consumer, row.stream, row.firstPos, row.reason, row.tries],
      );
    },

    async find(consumer, stream) {
      const [row] = await rows(`select ${COLUMNS} from spillway.parked where consumer = $1 and stream = $2`, [
        consumer,
        stream,
      ]);
      return row ?? null;
    },

    list: (consumer) =>
      rows(
        `select ${COLUMNS} from spillway.parked where $1::text is null or consumer = $1
         order by consumer, first_pos`,
        [consumer ?? null],
      ),

    async mark(consumer, stream, state) {
      const marked = await rows(
        `update spillway.parked set state = $3 where consumer = $1 and stream = $2 returning ${COLUMNS}`,
        [consumer, stream, state],
      );
      return marked.length > 0;
    },

    async clear(consumer, stream) {
      await rows(`delete from spillway.parked where consumer = $1 and stream = $2 returning ${COLUMNS}`, [
        consumer,
        stream,
      ]);
    },
  };
}

/** Tries of a handler at a position, counted before it runs. */
export function handlerTries(pool: Pool): HandlerTries {
  return {
    async count(consumer, partition, pos) {
      const { rows } = await reading(() =>
        pool.query<{ tries: number }>(
          `insert into spillway.handler_try as t values ($1, $2, $3, 1)
           on conflict (consumer, partition, pos) do update set tries = t.tries + 1
           returning tries`,
          [consumer, partition, pos],
        ),
      );
      return rows[0]?.tries ?? 1;
    },

    async clear(consumer, partition, pos) {
      await reading(() =>
        pool.query('delete from spillway.handler_try where consumer = $1 and partition = $2 and pos <= $3', [
          consumer,
          partition,
          pos,
        ]),
      );
    },
  };
}
