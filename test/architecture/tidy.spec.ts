import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROJECT } from './planted-tree.ts';
import { MAX_LINES, type TidyRule, untidyIn } from './tidy.ts';

/** Parsing every file takes a second or two; five on a busy machine. */
const READ_ALL_MS = 60_000;
const FOLDERS = ['libs', 'apps', 'tools', 'test'].filter((folder) => existsSync(join(PROJECT, folder)));

test(
  'every source file of the project is tidy',
  () => {
    const files = FOLDERS.flatMap((folder) =>
      readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.tsx?$/.test(file) && !/(^|\/)(node_modules|dist)\//.test(file))
        .map((file) => `${folder}/${file}`),
    );
    expect(files.length).toBeGreaterThan(10);
    const untidy = files.flatMap((file) => untidyIn(file, readFileSync(join(PROJECT, file), 'utf8')));
    expect(untidy.map(({ rule, path, line }) => `${rule}: ${path}:${line}`)).toEqual([]);
  },
  READ_ALL_MS,
);

interface Example {
  readonly rule: TidyRule;
  readonly path: string;
  readonly text: string;
}

const SPEC = 'libs/domain/src/prompt/prompt.spec.ts';
const CODE = 'apps/ingest/src/main.ts';
const PAGE = 'apps/consent/ui/src/app.tsx';

describe('a planted example is found', () => {
  test.each<Example>([
    { rule: 'too-long', path: CODE, text: 'export {};\n'.repeat(MAX_LINES + 1) },
    { rule: 'any', path: CODE, text: 'export const f = (x: any) => x;' },
    { rule: 'any', path: PAGE, text: 'export const f = (x: any) => <p>{x}</p>;' },
    { rule: 'clock-or-random', path: PAGE, text: 'export const f = () => <p>{Date.now()}</p>;' },
    { rule: 'any', path: SPEC, text: 'const x = JSON.parse("") as any;' },
    { rule: 'any', path: CODE, text: 'export const f = (x: Record<string, any>) => x;' },
    { rule: 'skipped-test', path: SPEC, text: "test.skip('x', () => undefined);" },
    { rule: 'skipped-test', path: SPEC, text: "it.only('x', () => undefined);" },
    { rule: 'skipped-test', path: SPEC, text: "describe.concurrent.only('x', () => undefined);" },
    { rule: 'skipped-test', path: SPEC, text: "test.skip.each([1])('x', () => undefined);" },
    { rule: 'skipped-test', path: SPEC, text: "it.todo('x');" },
    { rule: 'skipped-test', path: SPEC, text: "xit('x', () => undefined);" },
    { rule: 'environment', path: CODE, text: 'export const port = process.env.PORT;' },
    { rule: 'environment', path: CODE, text: "export const port = process['env'];" },
    { rule: 'environment', path: 'libs/platform/src/logger.ts', text: 'const { env } = process;' },
    { rule: 'environment', path: 'libs/messaging/src/relay.ts', text: "import { env } from 'node:process';" },
    { rule: 'clock-or-random', path: CODE, text: 'export const t = Date.now();' },
    { rule: 'clock-or-random', path: CODE, text: 'export const t = new Date();' },
    { rule: 'clock-or-random', path: CODE, text: 'export const t = Math.random();' },
    { rule: 'clock-or-random', path: CODE, text: "import { randomUUID } from 'node:crypto';" },
    { rule: 'clock-or-random', path: CODE, text: 'export const id = crypto.randomUUID();' },
    { rule: 'sleep-in-test', path: SPEC, text: 'await new Promise((done) => setTimeout(done, 50));' },
    {
      rule: 'sleep-in-test',
      path: SPEC,
      text: 'await new Promise<void>((done) => { setTimeout(() => done(), 50); });',
    },
    {
      rule: 'sleep-in-test',
      path: SPEC,
      text: "import { setTimeout as sleep } from 'node:timers/promises';",
    },
  ])('$rule: $text', ({ rule, path, text }) => {
    expect(untidyIn(path, text).map((untidy) => untidy.rule)).toContain(rule);
  });
});

describe('what only looks like it is let be', () => {
  test.each([
    {
      path: CODE,
      text: '// any process.env Date.now() is only spoken of here\nexport const x = "any";',
      reason: 'comment or text',
    },
    {
      path: 'libs/platform/src/load-config.ts',
      text: 'export const e = process.env;',
      reason: 'its one place',
    },
    { path: 'tools/up/main.ts', text: 'export const e = process.env;', reason: 'tools may' },
    { path: 'libs/platform/src/clock.ts', text: 'export const t = Date.now();', reason: 'its one place' },
    {
      path: CODE,
      text: 'export const t = Date.parse("2026-01-01") + new Date(0).getTime() + performance.now();',
      reason: 'no clock is asked',
    },
    { path: CODE, text: "import { createHash } from 'node:crypto';", reason: 'a digest is not random' },
    {
      path: SPEC,
      text: 'test.skipIf(slow)("x", () => undefined); list.only; cursor.skip(3);',
      reason: 'a stated condition, other objects',
    },
    {
      path: SPEC,
      text: 'const late = new Promise((_, fail) => setTimeout(() => fail(new Error("late")), 50));',
      reason: 'a bound, not a sleep',
    },
    { path: CODE, text: 'export {};\n'.repeat(MAX_LINES), reason: 'just short enough' },
  ])('$reason', ({ path, text }) => {
    expect(untidyIn(path, text)).toEqual([]);
  });
});
