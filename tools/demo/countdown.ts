import { waitUntil } from '../up/infra/chain.ts';

const LOOK_MS = 500;
const BAR_WIDTH = 30;

export interface CountdownOptions {
  /** What is waited for, as it is shown. */
  readonly what: string;
  /** When it is expected: the bar is full then. */
  readonly expectedS: number;
  /** When it is given up. */
  readonly boundS: number;
  readonly isOver: () => Promise<boolean>;
  /** Draws over its own line; null = nobody watches, and nothing is drawn. */
  readonly draw: ((text: string) => void) | null;
  readonly nowMs: () => number;
}

/** Waits for something that takes its time, with a bar of the seconds. Rejects when it takes too long. */
export async function countdown(options: CountdownOptions): Promise<void> {
  const { what, expectedS, boundS, isOver, draw, nowMs } = options;
  const startedMs = nowMs();
  let shown = 0;
  const look = async () => {
    if (await isOver()) return true;
    const text = barText(what, (nowMs() - startedMs) / 1000, expectedS);
    draw?.(`\r${text.padEnd(shown)}`);
    shown = text.length;
    return false;
  };
  try {
    await waitUntil(what, boundS * 1000, look, LOOK_MS);
  } finally {
    if (shown > 0) draw?.(`\r${' '.repeat(shown)}\r`);
  }
}

/** The line that is drawn after so many seconds. */
export function barText(what: string, passedS: number, expectedS: number): string {
  const full = Math.min(BAR_WIDTH, Math.round((passedS / expectedS) * BAR_WIDTH));
  return `    [${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] ${Math.floor(passedS)} s of about ${expectedS} s: ${what}`;
}
