import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { COLUMNS } from '#tools/demo/lines';

const DEADLINE_MS = 180_000;

/** Runs the built demo as a user does, on a Spillway of its own. */
function runDemo(
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  return new Promise((settle, fail) => {
    const child = spawn(process.execPath, ['dist/tools/demo/main.js', '--fast', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: DEADLINE_MS,
    });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    child.once('error', fail);
    child.once('close', (code) => settle({ code, out, err }));
  });
}

test('the demo tells its story on a stack of its own and all of it is true', {
  timeout: DEADLINE_MS,
}, async () => {
  const { code, out, err } = await runDemo('--own');
  expect({ code, err }, out).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^All \d+ claims of the story hold\.$/m);
  for (const line of [
    /← a question {2}failed_attempt_threshold · quota_exhausted counts · count 3 · awaiting-consent/,
    /← consent accepted · status consented · pool preemptible · count 3/,
    /← 409 {2}No question is open/,
    /← no question {2}suppressed · capacity_exhausted counts · count 4 · declined/,
    /← a question {2}failed_attempt_threshold · capacity_exhausted counts · count 5 · awaiting-consent/,
    /← a question {2}deterministic_preflight/,
    /rule:never-count-text:image_pull +The failure was classified by this rule\./,
    /^sound {2}up to position \d+/m,
    /^signed {3}up to position \d+, by \d checkpoint/m,
    /^same {2}\d+ events/m,
  ]) {
    expect(out).toMatch(line);
  }
  expectLegible(out, 'Spillway: placement failed again');
});

// That a worker dies and the next one takes over is proven in test/crash, where the minute of its lease is spent once
// for all points.
test('the story of a failover, without its kill, buys one machine and starts one workload', {
  timeout: DEADLINE_MS,
}, async () => {
  const { code, out, err } = await runDemo('failover', '--no-kill');
  expect({ code, err }, out).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^All \d+ claims of the story hold\.$/m);
  for (const line of [
    /→ launch {8}flex_a \(gcp, flex-start\), then od_a \(gcp, on-demand\)/,
    /← placed_primary$/m,
    /← running_on_terminal {2}gcp_queue_vanish_failover_runpod$/m,
    /✓ bought: 1 machine, 1 workload start$/m,
    /✓ the machine of the colleague is untouched$/m,
    /spillway decided the move to the terminal lane:\s+gcp_queue_vanish_failover_runpod;/,
    /^sound {2}up to position \d+/m,
    /^same {2}\d+ events/m,
  ]) {
    expect(out).toMatch(line);
  }
  expectLegible(out, 'Spillway: an instance vanishes');
});

/** A path of the machine may be longer than a line; it is no part of the story. */
function expectLegible(out: string, begin: string): void {
  expect(out).not.toContain('✗');
  const story = out.slice(out.indexOf(begin));
  expect(story.split('\n').filter((line) => line.length > COLUMNS)).toEqual([]);
}
