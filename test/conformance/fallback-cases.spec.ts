import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type Case, loadCases, withRunId } from './fallback-cases.ts';

const named = (name: string): Case => ({
  id: 'c',
  group: 'g',
  description: 'd',
  steps: [{ call: 'attempt', body: { logical_allocation: name }, expect: {} }],
});

describe('the data', () => {
  const cases = loadCases('test/conformance/fallback/cases.json');

  test('is read whole', () => {
    expect(cases).toHaveLength(182);
  });

  test('has the run id in every name, and nothing else is changed', () => {
    for (const original of cases) {
      const scoped = JSON.stringify(withRunId(original, 'r9'));
      expect(scoped.replaceAll('lumen-r9-', 'lumen-')).toBe(JSON.stringify(original));
      expect(scoped.split('lumen-').length).toBe(scoped.split('lumen-r9-').length);
    }
  });

  test('a name at the length bound stays at it', () => {
    const name = `lumen-${'x'.repeat(250)}`;
    const [step] = withRunId(named(`  ${name} `), 'r9').steps;
    const { logical_allocation } = z.object({ logical_allocation: z.string() }).parse(step?.body);
    expect(logical_allocation.trim()).toHaveLength(256);
    expect(logical_allocation.trim().startsWith('lumen-r9-xxx')).toBe(true);
  });
});

test('an expectation that the runner does not know is refused, not passed over', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cases-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'cases.json');
  const step = { call: 'attempt', body: {}, expect: { colour: 'green' } };
  writeFileSync(file, JSON.stringify([{ ...named('x'), steps: [step] }]));
  expect(() => loadCases(file)).toThrow(/colour/);
});
