import type { QueryConfig } from 'pg';
import type { AppendResult, Command } from '#domain/log';
import { eventIdOf } from '#events/envelope';
import type { EncodedCommand } from './encode-command.ts';
import type { OneConnection } from './one-connection.ts';

/**
 * Appends in one prepared statement of its own (implicit transaction), so that nobody holds the log's lock
 * over a round trip. One result per command, in order.
 */
export async function appendOnce(
  connection: OneConnection,
  commands: readonly EncodedCommand[],
  timeoutMs: number,
): Promise<readonly AppendResult[]> {
  const [row] = await connection.query<{ results: string }>(statementFor(commands), timeoutMs);
  const results: unknown = JSON.parse(row?.results ?? '[]');
  if (!Array.isArray(results) || results.length !== commands.length) {
    throw new Error(`expected ${commands.length} results of the append function`);
  }
  return results.map(resultOf);
}

function statementFor(commands: readonly EncodedCommand[]): QueryConfig {
  const [only, ...others] = commands;
  // A batch of one takes the plain path: a lone caller must not pay for the machinery of the many.
  if (only?.single && others.length === 0) {
    return {
      name: 'append-one',
      text: 'select spillway.append_one($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13) as results',
      values: [...only.single],
    };
  }
  return {
    name: 'append',
    text: 'select spillway.append($1) as results',
    values: [`[${commands.map((command) => command.text).join(',')}]`],
  };
}

/**
 * A repeat after a lost answer finds its own checkpoint step done, which looks like a stale consumer. The
 * command's first event tells: if it stands there with the same digest, this very command was recorded.
 */
export async function resolveOwnSteps(
  connection: OneConnection,
  commands: readonly EncodedCommand[],
  results: readonly AppendResult[],
  timeoutMs: number,
): Promise<readonly AppendResult[]> {
  return Promise.all(
    results.map(async (result, index) => {
      const command = commands[index]?.command;
      if (result.outcome !== 'stale_consumer' || !command?.checkpoint) return result;
      if (result.at < command.checkpoint.to) return result;
      return (await recordedEarlier(connection, command, timeoutMs)) ?? result;
    }),
  );
}

async function recordedEarlier(
  connection: OneConnection,
  command: Command,
  timeoutMs: number,
): Promise<AppendResult | null> {
  // A step without events leaves no trace of whose it was. The owner reads its checkpoint again.
  if (command.events.length === 0) return null;
  const [row] = await connection.query<{ first_pos: string; decision_version: number; recorded_at: string }>(
    {
      name: 'recorded-earlier',
      text: `
        select first.pos as first_pos, last.decision_version, spillway.iso(first.recorded_at) as recorded_at
        from spillway.event first
        join spillway.event last on last.event_id = $2
        where first.event_id = $1 and first.command_digest = $3`,
      values: [
        eventIdOf(command.commandId, 0),
        eventIdOf(command.commandId, command.events.length - 1),
        command.digest,
      ],
    },
    timeoutMs,
  );
  if (!row) return null;
  return {
    outcome: 'duplicate',
    firstPos: Number(row.first_pos),
    decisionVersion: row.decision_version,
    recordedAt: row.recorded_at,
  };
}

function resultOf(result: unknown): AppendResult {
  const [outcome, first, decisionVersion, recordedAt]: readonly unknown[] = Array.isArray(result)
    ? result
    : [];
  switch (outcome) {
    case 'appended':
    case 'duplicate':
      return {
        outcome,
        firstPos: Number(first),
        decisionVersion: Number(decisionVersion),
        recordedAt: String(recordedAt),
      };
    case 'id_conflict':
      return { outcome, firstPos: Number(first) };
    case 'wrong_version':
      return { outcome, decisionVersion: Number(first) };
    case 'stale_consumer':
      return { outcome, at: Number(first) };
    case 'fenced':
      return { outcome };
    default:
      throw new Error('the append function gave a result that this build does not know');
  }
}
