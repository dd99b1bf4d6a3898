import type { Pool } from 'pg';
import type { Partition } from '#domain/log';
import { CheckpointLayout, type ConsumerCheckpoint, type ConsumerCheckpoints } from '#domain/log-tables';
import { reading } from './failures.ts';
import { safeInt } from './rows.ts';

const COLUMNS = 'consumer, partition, partition_count, pos, hash, spillway.iso(updated_at) as updated_at';

interface CheckpointRow {
  readonly consumer: string;
  readonly partition: number;
  readonly partition_count: number;
  readonly pos: string;
  readonly hash: string;
  readonly updated_at: string;
}

/** Reads checkpoints and makes missing ones. Moving one is part of an append and nothing else. */
export function consumerCheckpoints(pool: Pool): ConsumerCheckpoints {
  async function rows(text: string, values: readonly unknown[]): Promise<readonly ConsumerCheckpoint[]> {
    const found = await reading(() => pool.query<CheckpointRow>(text, [...values]));
    return found.rows.map(checkpointOf);
  }

  return {
    async read(consumer: string, partition: number) {
      const [row] = await rows(
        `select ${COLUMNS} from spillway.consumer_checkpoint where consumer = $1 and partition = $2`,
        [consumer, partition],
      );
      return row ?? null;
    },

    async ensure(consumer: string, partition: Partition, startAt = 0) {
      const [row] = await rows(`select ${COLUMNS} from spillway.ensure_checkpoint($1, $2, $3, $4)`, [
        consumer,
        partition.index,
        partition.count,
        startAt,
      ]);
      if (!row) throw new Error('ensure_checkpoint answered no row');
      if (row.partitionCount !== partition.count) {
        throw new CheckpointLayout(
          `consumer ${consumer} is laid out in ${row.partitionCount} partitions, not in ${partition.count}: stop it and run as spillway_admin: select spillway.repartition('${consumer}', ${partition.count})`,
        );
      }
      return row;
    },

    all: () => rows(`select ${COLUMNS} from spillway.consumer_checkpoint order by consumer, partition`, []),

    async lowest() {
      const found = await reading(() =>
        pool.query<{ pos: string | null }>('select min(pos) as pos from spillway.consumer_checkpoint'),
      );
      const pos = found.rows[0]?.pos ?? null;
      return pos === null ? null : safeInt(pos);
    },
  };
}

/**
 * Lays a stopped consumer out in another number of partitions, each from the lowest position that was
 * reached: repeats are harmless, a skipped event is not. Under the role spillway_admin.
 */
export async function repartition(pool: Pool, consumer: string, partitions: number): Promise<void> {
  await reading(() => pool.query('select spillway.repartition($1, $2)', [consumer, partitions]));
}

function checkpointOf(row: CheckpointRow): ConsumerCheckpoint {
  return {
    consumer: row.consumer,
    partition: row.partition,
    partitionCount: row.partition_count,
    pos: safeInt(row.pos),
    hash: row.hash,
    updatedAt: row.updated_at,
  };
}
