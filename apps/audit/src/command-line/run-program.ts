import { type Command, CommanderError } from 'commander';
import { LogUnavailable } from '#domain/log';
import { LogUnusable } from '#event-log/assert-usable';
import { ConfigError } from '#platform/load-config';

/** 0 = nothing found, 1 = a finding (damage, a difference, nothing to act on), 2 = the call or its settings are wrong. */
export const EXIT = { ok: 0, finding: 1, usage: 2 } as const;

/** What the caller can repair; the message is one clear sentence. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Runs a command line. What is wrong with the call, the settings or the database is said in one sentence on
 * standard error, without a stack, and ends with code 2. Actions set `process.exitCode` for the rest.
 */
export async function runProgram(program: Command, args: readonly string[]): Promise<void> {
  // Whoever reads the output may stop early (`| head`): that is no failure of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
  exitsByThrowing(program, program.name());
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    // Commander has said it already, on the right stream.
    const said = error instanceof CommanderError;
    if (!said) process.stderr.write(`spillway: ${sentenceOf(error)}\n`);
    process.exitCode = said && error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
}

/** Every complaint begins alike; one that leaves the caller without a next step names it. */
function complaintOf(text: string, path: string): string {
  const said = text.replace(/^error: /, 'spillway: ').replace(/ command-argument value /, ' ');
  return said.replace(/(unknown command '.*')\n$/, `$1: see ${path} --help\n`);
}

/** Set on every command: one that was added as a whole does not inherit it. */
function exitsByThrowing(command: Command, path: string): void {
  command.exitOverride();
  command.configureOutput({ outputError: (text, write) => write(complaintOf(text, path)) });
  for (const each of command.commands) exitsByThrowing(each, `${path} ${each.name()}`);
}

const NO_ANSWER = 'the database did not answer in time';
const NO_CONNECTION_IN_TIME =
  /^(timeout expired|timeout exceeded when trying to connect|Connection terminated due to connection timeout)$/;

/** By SQLSTATE or system error code. What is not here is named by its class and code. */
const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers at the database URL: is the database running?',
  ENOENT: 'nothing answers at the database URL: is the database running?',
  ENOTFOUND: 'the host of the database URL is not known',
  ECONNRESET: 'the database closed the connection',
  ETIMEDOUT: NO_ANSWER,
  '57P03': 'the database is starting up: try again in a moment',
  '28P01': 'the database refuses this login',
  '28000': 'the database refuses this login',
  '3D000': 'the database of the URL does not exist',
  '42501':
    'this login may not do that: it must be a member of the roles spillway_audit (audit) and spillway_admin (admin), and for `admin migrate` it must be allowed to create roles and a schema',
  // The start option "role" names a role that is not there yet.
  '22023': 'the roles of Spillway are missing. Run: spillway admin migrate',
  // The roles belong to the whole server, the schema to one database: another one of the same server has only those.
  '3F000': 'the schema of Spillway is missing. Run: spillway admin migrate',
  '42P01': 'the tables of Spillway are missing. Run: spillway admin migrate',
};

/** What went wrong in one sentence, without a stack and without what anybody wrote. */
export function sentenceOf(error: unknown): string {
  if (error instanceof UsageError || error instanceof ConfigError || error instanceof LogUnusable) {
    return error.message;
  }
  const cause = error instanceof LogUnavailable ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : null;
  const known = code === null ? undefined : SENTENCES[code];
  if (known !== undefined) return known;
  // node-postgres says it by this text alone.
  if (cause instanceof Error && NO_CONNECTION_IN_TIME.test(cause.message)) return NO_ANSWER;
  const kind = cause instanceof Error ? cause.constructor.name : typeof cause;
  const what = error instanceof LogUnavailable ? 'the log cannot be read' : 'failed';
  return `${what} (${kind}${code === null ? '' : ` ${code}`})`;
}
