import type { SeedResult } from '../../test/simulation/random-schedule.ts';
import type { ScenarioResult } from '../../test/simulation/run-scenario.ts';

/** `ok VAN-01`, or `FAIL VAN-01 outcome: expected blocked, got waiting`. */
export function scenarioLine({ id, faults, isAmbiguous }: ScenarioResult, title: string): string {
  if (faults.length === 0) return `ok ${id} ${title}`;
  return `${isAmbiguous ? 'AMBIGUOUS' : 'FAIL'} ${id} ${faults.join('; ')}`;
}

/** The same as one JSON line, with everything that an expectation can ask for as it was observed. */
export function scenarioJson({ id, faults, isAmbiguous, observed, outcome }: ScenarioResult): string {
  const { events, left, ...members } = observed ?? { events: [], left: false };
  return JSON.stringify({
    id,
    pass: faults.length === 0,
    ...(isAmbiguous ? { ambiguous: true } : {}),
    ...members,
    outcome,
    unchanged: left,
    events,
    faults,
  });
}

/** Whether the run as a whole failed: an ambiguous scenario never makes it so. */
export function hasFailed(results: readonly ScenarioResult[]): boolean {
  return results.some(({ faults, isAmbiguous }) => faults.length > 0 && !isAmbiguous);
}

export function scenarioSummary(results: readonly ScenarioResult[]): string {
  const wrong = results.filter(({ faults }) => faults.length > 0);
  const ambiguous = wrong.filter(({ isAmbiguous }) => isAmbiguous).length;
  const failed = wrong.length - ambiguous;
  const runs = results.reduce((sum, result) => sum + result.runs, 0);
  const beside = ambiguous === 0 ? '' : `, ${ambiguous} ambiguous not as expected`;
  return `${results.length} scenarios in ${runs} runs: ${results.length - wrong.length} ok, ${failed} failed${beside}`;
}

export function seedJson({ seed, faults, outcome }: SeedResult): string {
  return JSON.stringify({ seed, pass: faults.length === 0, outcome, faults });
}

/** A failed seed is a bug report: what happened, what was broken, and how to see it again. */
export function seedStory({ seed, faults, trace }: SeedResult, withCalls: boolean): string {
  return [
    ...(withCalls ? trace.lines : trace.story),
    ...faults.map((fault) => `FAIL seed ${seed}: ${fault}`),
    `again: npm run -s simulate -- --seed ${seed}`,
  ].join('\n');
}

export function seedSummary(first: number, seeds: number, failed: readonly number[]): string {
  const range = seeds === 1 ? `seed ${first}` : `seeds ${first} to ${first + seeds - 1}`;
  const names = failed.length === 0 ? '' : `: ${failed.slice(0, SEEDS_NAMED_MAX).join(' ')}`;
  return `${range}: ${seeds - failed.length} held, ${failed.length} broken${names}`;
}

const SEEDS_NAMED_MAX = 20;
const CLEAR_LINE = '\r\u001b[K';

/** A stream that is written to; `isTTY` where a person watches. */
export interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A line that is drawn over and over on a terminal, and nothing elsewhere. */
export function seedProgress(out: Output, seeds: number) {
  const isShown = out.isTTY === true;
  let shown = '';
  return {
    on(done: number, failed: number): void {
      const text = `${done} of ${seeds} seeds, ${failed} broken`;
      if (!isShown || text === shown) return;
      shown = text;
      out.write(`${CLEAR_LINE}${text}`);
    },
    end(): void {
      if (isShown && shown !== '') out.write(CLEAR_LINE);
      shown = '';
    },
  };
}
