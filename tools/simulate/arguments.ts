import { parseArgs } from 'node:util';

export interface Arguments {
  readonly files: readonly string[];
  readonly json: boolean;
  /** Print every call of what failed. */
  readonly trace: boolean;
  /** Random schedules to run; 0 = none. */
  readonly seeds: number;
  /** The story of a seed is told even if it holds. */
  readonly tells: boolean;
  /** The first seed; null = one that is drawn. */
  readonly seed: number | null;
}

/** Whether the call asks only how it is made. */
export function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h');
}

export const USAGE = [
  'usage: npm run -s simulate -- FILE... [--json] [--trace]',
  '       npm run -s simulate -- --seeds N [--seed S] [--json]',
  '       npm run -s simulate -- --seed S',
  '',
  'FILE is a JSON list of scenarios (test/conformance/scenarios/FORMAT.md). One line a scenario; --json prints one',
  'JSON line each with what was observed; --trace shows every call of what failed. --seeds runs so many',
  'random schedules, from seed S on; --seed alone runs that one and tells its story.',
  'Ends with 0, with 1 on a failure, with 2 when the call or a file is wrong.',
].join('\n');

/** The call is wrong; the message is one sentence. */
export class BadArguments extends Error {
  override readonly name = 'BadArguments';
}

const SEEDS_MAX = 1_000_000;
const SEED_MAX = 2 ** 31 - 1;

/** What the caller wants. Throws BadArguments. */
export function readArguments(args: readonly string[]): Arguments {
  const { values, positionals } = parsed(args);
  const seeds = wholeNumber('--seeds', values.seeds, 1, SEEDS_MAX);
  const seed = wholeNumber('--seed', values.seed, 0, SEED_MAX);
  if (positionals.length === 0 && seeds === null && seed === null) {
    throw new BadArguments('neither a file nor --seeds is given');
  }
  if (positionals.length > 0 && (seeds !== null || seed !== null)) {
    throw new BadArguments('give either files or seeds');
  }
  return {
    files: positionals,
    json: values.json,
    trace: values.trace,
    tells: seeds === null && seed !== null,
    seeds: seeds ?? (seed === null ? 0 : 1),
    seed,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        trace: { type: 'boolean', default: false },
        seeds: { type: 'string' },
        seed: { type: 'string' },
      },
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new BadArguments(error.message.replace(/\. To specify.*$/s, ''));
  }
}

function wholeNumber(name: string, text: string | undefined, least: number, most: number): number | null {
  if (text === undefined) return null;
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  throw new BadArguments(`${name} is no whole number from ${least} to ${most}`);
}
