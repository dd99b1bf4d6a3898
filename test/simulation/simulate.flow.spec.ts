import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SCENARIOS = 'test/conformance/scenarios/scenarios.json';

function built(...args: readonly string[]) {
  return spawnSync('node', ['dist/tools/simulate/main.js', ...args], { cwd: ROOT, encoding: 'utf8' });
}

test('the built command runs the conformance set: one line a scenario, and 0', () => {
  const { status, stdout, stderr } = built(SCENARIOS);
  expect(stderr).toContain(': 130 ok, 0 failed');
  expect(stdout.trim().split('\n')).toHaveLength(130);
  expect(stdout).toMatch(/^(ok [A-Z]{3}-\d\d .+\n)+$/);
  expect(status).toBe(0);
});

test('the built command runs seeds, and says what is wrong with a call', () => {
  expect(built('--seeds', '3')).toMatchObject({ status: 0, stdout: '' });
  const wrong = built('no-such-file.json');
  expect(wrong).toMatchObject({ status: 2, stdout: '' });
  expect(wrong.stderr).toBe('simulate: no-such-file.json: cannot be read (ENOENT)\n');
});
