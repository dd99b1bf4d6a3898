import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { PROJECT, plantTree } from './planted-tree.ts';

/** What a rule must not reach for, and the linter's rule that says so. */
const IMPURE = [
  'export const t = Date.now();',
  'export const t = new Date();',
  'export const e = process.env;',
  "export const f = () => fetch('http://127.0.0.1');",
  'setTimeout(() => undefined, 1);',
  'setInterval(() => undefined, 1);',
  'setImmediate(() => undefined);',
  'queueMicrotask(() => undefined);',
  "console.log('x');",
  'export const id = crypto.randomUUID();',
  'export const t = performance.now();',
  'export const t = globalThis.Date.now();',
];
const EVERYWHERE = ['export const f = (x: any) => x;', 'export const f = (x: { a?: 1 }) => x.a!;'];

const RUN_DEADLINE_MS = 30_000;
const Report = z.object({
  diagnostics: z.array(
    z.object({ category: z.string(), severity: z.string(), location: z.object({ path: z.string() }) }),
  ),
});

describe('the linter keeps rules pure', () => {
  let root: string;
  let refused: ReadonlySet<string>;
  const domain = (index: number) => `libs/domain/src/watch/planted-${index}.ts`;
  const events = (index: number) => `libs/events/src/planted-${index}.ts`;
  const adapter = (index: number) => `libs/event-log/src/planted-${index}.ts`;
  const spec = 'libs/domain/src/watch/planted.spec.ts';

  beforeAll(() => {
    root = plantTree(
      [
        ...IMPURE.flatMap((text, index) =>
          [domain(index), events(index), adapter(index)].map((path) => ({ path, text })),
        ),
        ...EVERYWHERE.map((text, index) => ({ path: `apps/ingest/src/planted-${index}.ts`, text })),
        { path: spec, text: 'export const t = Date.now();' },
      ],
      ['biome.json'],
    );
    const biome = join(PROJECT, 'node_modules/.bin/biome');
    const { stdout } = spawnSync(
      biome,
      ['lint', '--vcs-enabled=false', '--reporter=json', '--max-diagnostics=none', '.'],
      { cwd: root, encoding: 'utf8', timeout: RUN_DEADLINE_MS },
    );
    const { diagnostics } = Report.parse(JSON.parse(stdout));
    refused = new Set(
      diagnostics.filter((found) => found.severity === 'error').map((found) => found.location.path),
    );
  }, RUN_DEADLINE_MS);
  afterAll(() => rmSync(root, { recursive: true }));

  test.each(IMPURE.map((text, index) => ({ text, index })))('$text', ({ index }) => {
    expect(refused).toContain(domain(index));
    expect(refused).toContain(events(index));
    // The rule is about libs/domain and libs/events: elsewhere the same line is somebody else's business.
    expect(refused).not.toContain(adapter(index));
  });

  test('a spec beside a rule may use the clock', () => {
    expect(refused).not.toContain(spec);
  });

  test.each(EVERYWHERE.map((text, index) => ({ text, index })))('everywhere: $text', ({ index }) => {
    expect(refused).toContain(`apps/ingest/src/planted-${index}.ts`);
  });
});
