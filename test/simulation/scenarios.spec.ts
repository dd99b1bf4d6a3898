import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { runScenario } from './run-scenario.ts';
import { parseScenarios } from './scenario.ts';

const FILE = new URL('../conformance/scenarios/scenarios.json', import.meta.url);
const scenarios = parseScenarios(readFileSync(FILE, 'utf8'));

describe('every scenario ends as it must, in every order of what happens together', () => {
  test.each(scenarios.map((scenario) => [scenario.id, scenario.title, scenario] as const))(
    '%s %s',
    async (_id, _title, scenario) => {
      const { faults, trace } = await runScenario(scenario);
      expect(faults, trace.join('\n')).toEqual([]);
    },
  );
});
