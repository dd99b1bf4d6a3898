import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { simulate } from '#tools/simulate/simulate';

const FOLDER = mkdtempSync(join(tmpdir(), 'simulate-'));
const LAUNCH = { at: 0, launch: {} };
const LAD_01 = {
  id: 'LAD-01',
  group: 'ladder',
  title: 'The first rung takes it',
  steps: [LAUNCH],
  expect: { outcome: 'placed_primary', creates_today: 1 },
};
const WRONG = { ...LAD_01, id: 'LAD-02', expect: { outcome: 'blocked', creates_today: 1 } };

function file(name: string, content: unknown): string {
  const path = join(FOLDER, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

async function run(args: readonly string[], isTTY = false) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await simulate(
    args,
    { write: (text) => out.push(text) },
    { isTTY, write: (text) => err.push(text) },
  );
  return { code, out: out.join(''), err: err.join('') };
}

describe('files', () => {
  test('one line a scenario, a summary, and 0 when each is as expected', async () => {
    expect(await run([file('good.json', [LAD_01])])).toEqual({
      code: 0,
      out: 'ok LAD-01 The first rung takes it\n',
      err: '1 scenarios in 1 runs: 1 ok, 0 failed\n',
    });
  });

  test('a failure is named by its member, and ends with 1', async () => {
    expect(await run([file('wrong.json', [LAD_01, WRONG])])).toEqual({
      code: 1,
      out: 'ok LAD-01 The first rung takes it\nFAIL LAD-02 outcome: expected blocked, got placed_primary\n',
      err: '2 scenarios in 2 runs: 1 ok, 1 failed\n',
    });
  });

  test('an ambiguous scenario that fails is told, and fails nothing', async () => {
    const ambiguous = file('ambiguous.json', [{ ...WRONG, ambiguous: true }]);
    const { code, out, err } = await run([ambiguous]);
    expect(code).toBe(0);
    expect(out).toMatch(/^AMBIGUOUS LAD-02 outcome: /);
    expect(err).toBe('1 scenarios in 1 runs: 0 ok, 0 failed, 1 ambiguous not as expected\n');
  });

  test('--json prints one line each with every member as it was observed', async () => {
    const { code, out } = await run(['--json', file('wrong.json', [LAD_01, WRONG])]);
    expect(code).toBe(1);
    const lines = out.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { id: 'LAD-01', pass: true, outcome: 'placed_primary', creates_today: 1, terminal_creates: 0 },
      { id: 'LAD-02', pass: false, faults: ['outcome: expected blocked, got placed_primary'] },
    ]);
    const Line = z.strictObject(
      Object.fromEntries(
        [
          ...['id', 'pass', 'outcome', 'unchanged', 'reason', 'failure_class', 'redrivable', 'evidence'],
          ...['terminal_creates', 'terminal_dispatches', 'live_own_pods', 'untouched', 'terminated'],
          ...['adopted', 'cancelled', 'creates_today', 'prompts', 'events', 'faults'],
        ].map((member) => [member, z.unknown()]),
      ),
    );
    expect(Line.safeParse(JSON.parse(lines[0] ?? '')).error).toBeUndefined();
  });

  test('--trace shows every call of what failed', async () => {
    const { err } = await run(['--trace', file('wrong.json', [WRONG])]);
    expect(err).toContain('worker 1: append LaunchRequested, LaunchAccepted');
    expect(err).toContain('gcp.create');
  });
});

describe('seeds', () => {
  test('the same seed is the same story', async () => {
    const first = await run(['--seed', '7', '--trace']);
    expect(first.code).toBe(0);
    expect(first.out).toContain('recorded LaunchAccepted');
    expect(first.out).toContain('again: npm run -s simulate -- --seed 7');
    expect(await run(['--seed', '7', '--trace'])).toEqual(first);
  });

  test('--seeds runs so many from the seed on; progress is drawn for a person only', async () => {
    const args = ['--seeds', '3', '--seed', '7', '--json'];
    const { code, out, err } = await run(args);
    expect(code).toBe(0);
    const lines = out.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { seed: 7, pass: true, faults: [] },
      { seed: 8, pass: true },
      { seed: 9, pass: true },
    ]);
    expect(err).toBe('seeds 7 to 9: 3 held, 0 broken\n');
    const watched = await run(args, true);
    expect(watched.err).toContain('2 of 3 seeds, 0 broken');
    expect(watched.err.endsWith('seeds 7 to 9: 3 held, 0 broken\n')).toBe(true);
  });
});

describe('what cannot be run is said in one sentence and ends with 2', () => {
  test.each<readonly [readonly string[], string]>([
    [[], 'neither a file nor --seeds is given'],
    [['--seeds', '0'], '--seeds is no whole number from 1 to 1000000'],
    [['--seeds', '1.5'], '--seeds is no whole number from 1 to 1000000'],
    [['--seed', '-1'], '--seed'],
    [['--bogus'], "Unknown option '--bogus'"],
    [['a.json', '--seeds', '3'], 'give either files or seeds'],
    [[join(FOLDER, 'missing.json')], 'missing.json: cannot be read (ENOENT)'],
    [[file('text.json', 'nonsense')], 'text.json: not JSON'],
    [[file('object.json', {})], 'object.json: not a JSON list of scenarios'],
    [[file('bad.json', [{ ...LAD_01, extra: 1 }])], 'scenario LAD-01: the scenario itself:'],
  ])('%j', async (args, sentence) => {
    const { code, out, err } = await run(args);
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).toContain(sentence);
    expect(err).not.toContain('    at ');
  });

  test.each(['--help', '-h'])('%s prints how it is called, and nothing is wrong', async (flag) => {
    const { code, out, err } = await run([flag]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^usage: npm run -s simulate/);
  });

  test('a bad file stops the good ones too', async () => {
    const { code, out } = await run([file('good.json', [LAD_01]), file('text.json', 'nonsense')]);
    expect(code).toBe(2);
    expect(out).toBe('');
  });
});
