import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { runScenario } from './run-scenario.ts';
import { parseScenarios } from './scenario.ts';

const SCENARIOS = new URL('../conformance/scenarios/', import.meta.url);
/** What happens together is run in a hundred orders, and the machine may be busy. */
const SCENARIO_MAX_MS = 60_000;

/** One test a scenario of this file of test/conformance/scenarios, in every order of what happens together. */
export function testScenarios(promise: string, file: string): void {
  const scenarios = parseScenarios(readFileSync(new URL(file, SCENARIOS), 'utf8'));
  describe(promise, () => {
    test.each(scenarios.map((scenario) => [scenario.id, scenario.title, scenario] as const))(
      '%s %s',
      async (_id, _title, scenario) => {
        const { faults, isAmbiguous, trace } = await runScenario(scenario);
        // Two experts could differ on an ambiguous one: it fails nothing.
        expect(isAmbiguous ? [] : faults, trace.join('\n')).toEqual([]);
      },
      SCENARIO_MAX_MS,
    );
  });
}
