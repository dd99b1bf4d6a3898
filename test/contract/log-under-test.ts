import type { AppendResult, Command } from '#domain/log';
import type { Log } from '#domain/log-tables';

/** A log and the ways in which every contract test speaks to it. It is open from the first hook on. */
export interface LogUnderTest {
  readonly log: () => Log;
  /** One command in a call of its own. */
  readonly appendOne: (given: Command) => Promise<AppendResult>;
}

/** The first position of a command that must have been appended. */
export function firstPosOf(result: AppendResult | undefined): number {
  if (result?.outcome !== 'appended') throw new Error(`expected appended, got ${result?.outcome}`);
  return result.firstPos;
}
