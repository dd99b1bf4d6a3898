import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Planted, PROJECT, plantTree } from './planted-tree.ts';

/** Reading every import takes a second or two; more on a busy machine. */
const READ_ALL_MS = 60_000;
const CONFIG = join(PROJECT, '.dependency-cruiser.cjs');

/** Packages that exist in the planted tree; `vitest` is a development dependency there. */
const SHIPPED = [
  'zod',
  'pg',
  '@nats-io/jetstream',
  '@nestjs/core',
  '@nestjs/microservices',
  'rxjs',
  'pino',
  'fastify',
  '@google-cloud/compute',
];
const DEVELOPMENT = ['vitest', 'preact'];

const leaf = (path: string): Planted => ({ path, text: 'export const leaf = 1;\n' });
const importing = (path: string, ...targets: readonly string[]): Planted => ({
  path,
  text: targets.map((target, index) => `export * as n${index} from '${target}';\n`).join(''),
});

interface Violation extends Planted {
  readonly rule: string;
}
const breaking = (rule: string, path: string, target: string): Violation => ({
  rule,
  ...importing(path, target),
});

const LEAVES = [
  'libs/events/src/leaf.ts',
  'libs/domain/src/leaf.ts',
  'libs/event-log/src/leaf.ts',
  'libs/messaging/src/leaf.ts',
  'libs/platform/src/leaf.ts',
  'apps/ingest/src/leaf.ts',
  'apps/audit/src/leaf.ts',
  'apps/consent/ui/src/leaf.ts',
  'libs/domain/src/audit/leaf.ts',
  'tools/leaf.ts',
  'test/support/leaf.ts',
].map(leaf);

const ALLOWED: readonly Planted[] = [
  importing('libs/events/src/fine.ts', './leaf.ts', 'zod', 'node:crypto'),
  importing('libs/domain/src/fine.ts', './leaf.ts', '#events/leaf', 'zod', 'node:crypto'),
  importing('libs/domain/src/fine.spec.ts', './leaf.ts', '#support/leaf', 'vitest'),
  importing('libs/event-log/src/fine.ts', '#domain/leaf', '#events/leaf', 'pg', 'node:net'),
  importing('libs/messaging/src/fine.ts', '#domain/leaf', '@nats-io/jetstream'),
  importing('libs/messaging/src/log-transport.ts', '@nestjs/microservices', 'rxjs'),
  importing('libs/platform/src/fine.ts', '#domain/leaf', 'pino', 'fastify', 'node:process'),
  importing(
    'apps/ingest/src/fine.ts',
    './leaf.ts',
    '#domain/leaf',
    '#event-log/leaf',
    '#messaging/leaf',
    '#platform/leaf',
    '@nestjs/core',
  ),
  importing('apps/provisioner/src/lanes/fine.ts', '@google-cloud/compute'),
  importing('apps/consent/ui/src/fine.ts', './leaf.ts', 'preact'),
  {
    path: 'apps/consent/ui/src/types.ts',
    text: "import type { leaf } from '#domain/audit/leaf';\nexport type T = typeof leaf;\n",
  },
  importing(
    'tools/fine.ts',
    '#event-log/leaf',
    'pg',
    '@nats-io/jetstream',
    '../apps/ingest/src/leaf.ts',
    '#support/leaf',
  ),
  importing(
    'test/flow/fine.ts',
    '#event-log/leaf',
    'pg',
    '@nats-io/jetstream',
    '../../apps/ingest/src/leaf.ts',
    'vitest',
  ),
];

const VIOLATIONS: readonly Violation[] = [
  breaking('no-unresolvable', 'libs/domain/src/unresolvable.ts', './not-there.ts'),
  breaking('events-import-only-zod', 'libs/events/src/up.ts', '#domain/leaf'),
  breaking('events-import-only-zod', 'libs/events/src/disk.ts', 'node:fs'),
  breaking('domain-imports-only-events', 'libs/domain/src/up.ts', '#platform/leaf'),
  breaking('domain-imports-only-events', 'libs/domain/src/disk.ts', 'node:fs'),
  breaking('domain-imports-only-events', 'libs/domain/src/network.ts', 'node:net'),
  breaking('domain-imports-only-events', 'libs/domain/src/package.ts', 'rxjs'),
  breaking('adapter-alone-event-log', 'libs/event-log/src/side.ts', '#messaging/leaf'),
  breaking('adapter-alone-event-log', 'libs/event-log/src/platform.ts', '#platform/leaf'),
  breaking('adapter-alone-messaging', 'libs/messaging/src/side.ts', '../../event-log/src/leaf.ts'),
  breaking('adapter-alone-platform', 'libs/platform/src/side.ts', '#event-log/leaf'),
  breaking('libs-below-apps', 'libs/platform/src/up.ts', '../../../apps/ingest/src/leaf.ts'),
  breaking('libs-without-tools-and-test', 'libs/platform/src/tool.ts', '#tools/leaf'),
  breaking('libs-without-tools-and-test', 'libs/platform/src/support.ts', '#support/leaf'),
  breaking('apps-without-tools-and-test', 'apps/ingest/src/tool.ts', '#tools/leaf'),
  breaking('apps-without-tools-and-test', 'apps/ingest/src/support.ts', '#support/leaf'),
  breaking('app-alone', 'apps/ingest/src/side.ts', '../../audit/src/leaf.ts'),
  breaking('pg-only-in-event-log', 'apps/ingest/src/sql.ts', 'pg'),
  breaking('pg-only-in-event-log', 'libs/messaging/src/sql.ts', 'pg'),
  breaking('nats-only-in-messaging', 'apps/ingest/src/bus.ts', '@nats-io/jetstream'),
  breaking('nats-only-in-messaging', 'libs/event-log/src/bus.ts', '@nats-io/jetstream'),
  breaking('nest-only-in-apps', 'libs/platform/src/nest.ts', '@nestjs/core'),
  breaking('nest-only-in-apps', 'libs/messaging/src/nest.ts', '@nestjs/microservices'),
  breaking('nest-only-in-apps', 'libs/event-log/src/streams.ts', 'rxjs'),
  breaking('http-only-in-platform', 'libs/messaging/src/server.ts', 'fastify'),
  breaking('cloud-clients-only-in-lanes', 'apps/provisioner/src/steps/cloud.ts', '@google-cloud/compute'),
  breaking('logs-and-metrics-only-in-platform', 'apps/ingest/src/log.ts', 'pino'),
  breaking('no-dev-dependency', 'apps/ingest/src/dev.ts', 'vitest'),
  breaking('page-imports-only-preact', 'apps/consent/ui/src/package.ts', 'rxjs'),
  breaking('page-imports-only-preact', 'apps/consent/ui/src/platform.ts', '#platform/leaf'),
  breaking('page-takes-types-only', 'apps/consent/ui/src/rule.ts', '#domain/audit/leaf'),
  breaking('page-is-served-as-built', 'apps/consent/src/rendered.ts', '../ui/src/leaf.ts'),
];

/** A type alone couples as much as a value. */
const TYPE_ONLY: Planted = {
  path: 'libs/domain/src/type-only.ts',
  text: "import type { leaf } from '#platform/leaf';\nexport type T = typeof leaf;\n",
};

test(
  'the project keeps its boundaries',
  async () => {
    const folders = ['libs', 'apps', 'tools', 'test'].filter((folder) => existsSync(join(PROJECT, folder)));
    const { modules, summary } = await cruised(PROJECT, folders);
    // A cruiser that understands no TypeScript reads nothing and reports success.
    expect(modules.filter((module) => module.source.endsWith('.ts')).length).toBeGreaterThan(10);
    expect(modules.flatMap((module) => module.dependencies).length).toBeGreaterThan(10);
    expect(summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`)).toEqual([]);
  },
  READ_ALL_MS,
);

describe('what is allowed is not reported', () => {
  let root: string;
  beforeAll(() => {
    root = plantTree([...LEAVES, ...ALLOWED, ...packages()], ['tsconfig.json']);
  });
  afterAll(() => rmSync(root, { recursive: true }));

  test('a tree with an import of each allowed kind', async () => {
    const { modules, summary } = await cruised(root, ['libs', 'apps', 'tools', 'test']);
    const read = modules.map((module) => module.source);
    expect(read).toEqual(expect.arrayContaining(ALLOWED.map((planted) => planted.path)));
    expect(summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`)).toEqual([]);
  });
});

describe('a planted violation is named', () => {
  let root: string;
  let named: readonly string[];
  const cycle = [
    importing('libs/events/src/circle-a.ts', './circle-b.ts'),
    importing('libs/events/src/circle-b.ts', './circle-a.ts'),
  ];
  // The exception for the transport is narrow: the rest of Nest stays out of it too.
  const transport = importing('libs/messaging/src/log-transport.ts', '@nestjs/core');

  beforeAll(async () => {
    root = plantTree(
      [...LEAVES, ...VIOLATIONS, ...cycle, transport, TYPE_ONLY, ...packages()],
      ['tsconfig.json'],
    );
    const { summary } = await cruised(root, ['libs', 'apps', 'tools', 'test']);
    named = summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`);
  });
  afterAll(() => rmSync(root, { recursive: true }));

  test.each(VIOLATIONS)('$rule: $path', ({ rule, path }) => {
    expect(named).toContain(`${rule}: ${path}`);
  });

  test('no-cycle', () => {
    expect(named.filter((line) => line.startsWith('no-cycle'))).not.toEqual([]);
  });

  test('transport-imports-little-of-nest', () => {
    expect(named).toContain(`transport-imports-little-of-nest: ${transport.path}`);
  });

  test('an import of a type alone', () => {
    expect(named).toContain(`domain-imports-only-events: ${TYPE_ONLY.path}`);
  });

  test('every rule has a violation that it was seen to catch', async () => {
    const { ruleSet } = await extractDepcruiseOptions(CONFIG);
    const rules = (ruleSet?.forbidden ?? []).map((rule) => rule.name);
    expect(rules.length).toBeGreaterThan(10);
    expect(rules.filter((rule) => !named.some((line) => line.startsWith(`${rule}:`)))).toEqual([]);
  });
});

async function cruised(baseDir: string, folders: string[]): Promise<ICruiseResult> {
  const options = await extractDepcruiseOptions(CONFIG);
  const tsConfig = extractTSConfig(join(baseDir, 'tsconfig.json'));
  const { output } = await cruise(
    folders,
    { ...options, baseDir, validate: true, tsConfig: { fileName: join(baseDir, 'tsconfig.json') } },
    undefined,
    { tsConfig },
  );
  if (typeof output === 'string') throw new Error('expected the result as an object, not as text');
  return output;
}

/** Packages to import from, and the manifest that makes `#...` aliases and dependency kinds known. */
function packages(): readonly Planted[] {
  const installed = [...SHIPPED, ...DEVELOPMENT].flatMap((name) => [
    {
      path: `node_modules/${name}/package.json`,
      text: JSON.stringify({ name, version: '1.0.0', main: 'index.js' }),
    },
    { path: `node_modules/${name}/index.js`, text: 'exports.leaf = 1;\n' },
  ]);
  const versions = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, '1.0.0']));
  const libs = ['events', 'domain', 'event-log', 'messaging', 'platform'];
  const imports = {
    ...Object.fromEntries(libs.map((lib) => [`#${lib}/*`, { source: `./libs/${lib}/src/*.ts` }])),
    '#tools/*': { source: './tools/*.ts' },
    '#support/*': { source: './test/support/*.ts' },
  };
  const manifest = {
    name: 'planted',
    type: 'module',
    imports,
    dependencies: versions(SHIPPED),
    devDependencies: versions(DEVELOPMENT),
  };
  return [{ path: 'package.json', text: JSON.stringify(manifest) }, ...installed];
}
