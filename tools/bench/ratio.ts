import { median } from './measure.ts';

/** Two figures of the same rounds, and what the first must be of the second (design 12). */
export interface Ratio {
  readonly what: string;
  readonly ours: number;
  readonly besideWhat: string;
  readonly beside: number;
  /** What both are measured in. */
  readonly unit: '/s' | 'ms';
  /** Median over the rounds of ours / beside in the same round. */
  readonly ratio: number;
  readonly target: string;
}

export interface InTurns extends Pick<Ratio, 'what' | 'besideWhat' | 'unit' | 'target'> {
  readonly rounds: number;
  readonly ours: () => Promise<number>;
  readonly beside: () => Promise<number>;
  readonly say: (line: string) => void;
}

/**
 * Measures the two in turns, so that whatever else the machine does falls on both. The order changes with each
 * round. Rejects when one of them does.
 */
export async function measuredInTurns(call: InTurns): Promise<Ratio> {
  const { what, besideWhat, unit, target, rounds, say } = call;
  const measured: { readonly ours: number; readonly beside: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const besideFirst = round % 2 === 1 ? await call.beside() : null;
    const ours = await call.ours();
    const beside = besideFirst ?? (await call.beside());
    measured.push({ ours, beside });
    const [one, other] = [shown(ours, unit), shown(beside, unit)];
    say(`${what}, round ${round + 1}/${rounds}: ${one}, ${besideWhat} ${other}`);
  }
  return {
    what,
    besideWhat,
    unit,
    target,
    ours: median(measured.map(({ ours }) => ours)),
    beside: median(measured.map(({ beside }) => beside)),
    ratio: median(measured.map(({ ours, beside }) => ours / beside)),
  };
}

/** A row of the table of main.ts. */
export function ratioRow({ what, ours, besideWhat, beside, unit, ratio, target }: Ratio): string {
  const [one, other] = [shown(ours, unit), shown(beside, unit)];
  return `| ${what} | ${one} | ${besideWhat} ${other} | ${ratio.toFixed(2)} (${target}) |\n`;
}

function shown(value: number, unit: Ratio['unit']): string {
  return unit === '/s' ? `${Math.round(value)}/s` : `${value.toFixed(2)} ms`;
}
