import { DatabaseError } from 'pg';
import { LogUnavailable } from '#domain/log';
import type { SendFailure } from './group-commit.ts';

/** By class of SQLSTATE (its first two characters). What is not named here says nothing about the command. */
const FAILURE_BY_CLASS: Readonly<Record<string, SendFailure>> = {
  '21': 'bad_content', // cardinality
  '22': 'bad_content', // data exception: a value that the column cannot hold
  '23': 'bad_content', // integrity: two rows claim one id or one version
  '54': 'bad_content', // program limit: too large
  '28': 'refused', // login
  '3D': 'refused', // no such database
  '3F': 'refused', // no such schema: not migrated
  '42': 'refused', // no such function, no permission
  P0: 'refused', // the append function's own preconditions
};

/** The server takes no writes: it was set so, or it is a standby. */
const READ_ONLY = '25006';

/** What an error of the driver tells about what was sent. */
export function failureOf(error: unknown): SendFailure {
  if (!(error instanceof DatabaseError) || error.code === undefined) return 'unknown_outcome';
  // Told at once rather than tried until the deadline: it lasts until a person or a failover ends it.
  if (error.code === READ_ONLY) return 'refused';
  return FAILURE_BY_CLASS[error.code.slice(0, 2)] ?? 'unknown_outcome';
}

/** Runs a read; a lost or refused connection becomes LogUnavailable, which callers answer with "later". */
export async function reading<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (cause) {
    if (failureOf(cause) === 'bad_content') throw cause;
    throw new LogUnavailable('the log cannot be read', { cause });
  }
}
