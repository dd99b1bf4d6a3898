import Table from 'cli-table3';
import pc from 'picocolors';
import type { Progress } from '../progress.ts';

/** Where a command writes: results on standard output, progress on standard error. Colours on a terminal only. */
export interface Terminal {
  readonly colours: Pick<typeof pc, 'bold' | 'dim' | 'red' | 'green' | 'yellow'>;
  /** Columns of the screen, to fold long lines at; infinite elsewhere, where a line is one to search for. */
  readonly columns: number;
  line(text?: string): void;
  json(value: unknown): void;
  /** Columns without borders, so that the output can be cut and searched. */
  table(head: readonly string[], rows: readonly (readonly string[])[]): void;
  /** A bar that is drawn over and over on a terminal, and nothing elsewhere. */
  progress(what: string): { readonly on: Progress; end(): void };
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** The terminal of this process. */
export function processTerminal(out: Output = process.stdout, err: Output = process.stderr): Terminal {
  const colours = pc.createColors(out.isTTY === true && pc.isColorSupported);
  const line = (text = ''): void => {
    out.write(`${text}\n`);
  };
  return {
    colours,
    columns: out.isTTY === true ? Math.max(COLUMNS_MIN, out.columns ?? COLUMNS) : Number.POSITIVE_INFINITY,
    line,
    json: (value) => line(JSON.stringify(value, null, 2)),
    table(head, rows) {
      const table = new Table({
        head: head.map((title) => colours.bold(title)),
        chars: BORDERLESS,
        style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
      });
      table.push(...rows.map((row) => [...row]));
      line(table.toString().replaceAll(/ +$/gm, ''));
    },
    progress: (what) => (err.isTTY === true ? bar(err, what) : { on: () => {}, end: () => {} }),
  };
}

/**
 * Text that somebody else wrote, safe to show: a control or format character could move the cursor, recolour
 * what follows or turn its direction.
 */
export function visible(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** Of a terminal that does not say; and below the least one hardly a word fits beside an indent. */
const COLUMNS = 80;
const COLUMNS_MIN = 40;

const BORDERS = [
  'top',
  'top-mid',
  'top-left',
  'top-right',
  'bottom',
  'bottom-mid',
  'bottom-left',
  'bottom-right',
  'left',
  'left-mid',
  'mid',
  'mid-mid',
  'right',
  'right-mid',
  'middle',
] as const;
const BORDERLESS = Object.fromEntries(BORDERS.map((name) => [name, '']));

const BAR_WIDTH = 30;

function bar(err: Output, what: string) {
  let shown = '';
  return {
    on: (done: number, of: number): void => {
      const share = of === 0 ? 1 : done / of;
      const full = Math.round(share * BAR_WIDTH);
      const text = `${what} [${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] ${Math.floor(share * 100)}%`;
      if (text !== shown) err.write(`\r${text}`);
      shown = text;
    },
    end: (): void => {
      if (shown !== '') err.write(`\r${' '.repeat(shown.length)}\r`);
    },
  };
}
