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
