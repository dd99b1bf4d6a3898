import type { Pool } from 'pg';
import type { Lease, Leases } from '#domain/log-tables';
import { reading } from './failures.ts';
import { safeInt } from './rows.ts';

const COLUMNS = 'name, fence, holder, spillway.iso(until) as until';

interface LeaseRow {
  readonly name: string;
  readonly fence: string;
  readonly holder: string | null;
  readonly until: string;
}

/** Leases on the store's clock: the clocks of the holders never meet. */
export function leases(pool: Pool): Leases {
  async function one(text: string, values: readonly unknown[]): Promise<Lease | null> {
    const { rows } = await reading(() => pool.query<LeaseRow>(text, [...values]));
    const [row] = rows;
    return row ? { name: row.name, fence: safeInt(row.fence), holder: row.holder, until: row.until } : null;
  }

  return {
    take: (name, holder, forMs) =>
      one(
        `insert into spillway.lease as l (name, fence, holder, until)
         values ($1, 1, $2, clock_timestamp() + $3 * interval '1 ms')
         on conflict (name) do update
         set fence = l.fence + 1, holder = excluded.holder, until = excluded.until
         where l.until <= clock_timestamp() or l.holder is null or l.holder = excluded.holder
         returning ${COLUMNS}`,
        [name, holder, forMs],
      ),

    async renew(name, fence, forMs) {
      const renewed = await one(
        `update spillway.lease set until = clock_timestamp() + $3 * interval '1 ms'
         where name = $1 and fence = $2 and holder is not null and until > clock_timestamp()
         returning ${COLUMNS}`,
        [name, fence, forMs],
      );
      return renewed !== null;
    },

    async release(name, fence) {
      const released = await one(
        `update spillway.lease set holder = null, until = clock_timestamp()
         where name = $1 and fence = $2 and holder is not null
         returning ${COLUMNS}`,
        [name, fence],
      );
      return released !== null;
    },

    async clock() {
      const { rows } = await reading(() =>
        pool.query<{ now: string }>('select spillway.iso(clock_timestamp()) as now'),
      );
      const [row] = rows;
      if (!row) throw new Error('the store did not tell its time');
      return row.now;
    },

    read: (name) => one(`select ${COLUMNS} from spillway.lease where name = $1`, [name]),
  };
}
