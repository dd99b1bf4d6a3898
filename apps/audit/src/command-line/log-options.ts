import { type Command, InvalidArgumentError } from 'commander';
import { assertWrapKeys } from '#event-log/assert-keys';
import { StreamFinder } from '#event-log/find-stream';
import { allocationStream } from '#events/streams';
import { Sealer } from '#platform/sealer';
import { wholeNumber } from '#platform/variables';
import type { AuditLog } from '../audit-log.ts';
import { refArgument } from './ref-argument.ts';
import { UsageError } from './run-program.ts';
import type { Settings } from './settings.ts';

/** What every tool that reads the log is given. */
export interface LogOptions {
  readonly databaseUrl?: string;
  readonly json?: boolean;
}

/** Which allocation is asked about. */
export interface NamedOptions extends LogOptions {
  readonly name?: string;
}

export function logOptions(command: Command): Command {
  return command
    .option(
      '--database-url <url>',
      'Postgres of the log; else SPILLWAY_DATABASE_URL, else .spillway/instance.json',
    )
    .option('--json', 'print one JSON document');
}

export function namedOptions(command: Command): Command {
  return logOptions(command)
    .argument('[ref]', 'ref of the allocation, 64 hex digits', refArgument)
    .option('--name <name>', 'logical name instead of the ref; every key of the ring is tried');
}

/** Throws UsageError unless the allocation is named in exactly one way. */
export function refuseUnnamed(ref: string | undefined, { name }: NamedOptions): void {
  if ((ref === undefined) === (name === undefined)) {
    throw new UsageError('give either the ref of the allocation or --name');
  }
}

/** The stream of the allocation, whether or not the log has it. */
export async function streamOf(
  log: AuditLog,
  settings: Settings,
  ref: string | undefined,
  name = '',
): Promise<string> {
  if (ref !== undefined) return allocationStream(ref);
  return (await new StreamFinder(settings.keyRing(), log).find(name.trim())).stream;
}

/** Throws UsageError when there are no wrapping keys, and LogUnusable when they are not those of the log. */
export async function unsealerOf(log: AuditLog, settings: Settings): Promise<Sealer> {
  const wrapKeys = settings.wrapKeys();
  await assertWrapKeys(log.sealed, wrapKeys);
  return new Sealer({ store: log.sealed, wrapKeys });
}

/** A whole number from 1 to `most`. */
export function countArgument(most: number) {
  return (text: string): number => {
    const count = wholeNumber(1, most).safeParse(text);
    if (!count.success) throw new InvalidArgumentError(`A whole number from 1 to ${most}.`);
    return count.data;
  };
}
