import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { ConfigError, describeVariables, type Environment, loadConfig } from './load-config.ts';
import {
  busVariables,
  deploymentVariables,
  httpVariables,
  intakeVariables,
  keyVariables,
  logVariables,
  ruleVariables,
} from './variables.ts';

const schema = z.object({
  ...deploymentVariables,
  ...logVariables,
  ...busVariables,
  ...keyVariables,
  ...httpVariables(8787),
  ...ruleVariables,
  ...intakeVariables,
});
const key = (fill: number, length = 32) => Buffer.alloc(length, fill).toString('base64');
const database = 'postgres://app:hunter2-secret@127.0.0.1:5432/spillway';
const least: Environment = {
  SPILLWAY_DATABASE_URL: database,
  SPILLWAY_KEY_RING: `k1:${key(1)}`,
  SPILLWAY_WRAP_KEYS: `w1:${key(2)}`,
};

test('fills in the documented defaults', () => {
  const config = loadConfig(schema, least);
  expect(config.SPILLWAY_DEPLOYMENT).toBe('local');
  expect(config.SPILLWAY_BUS_PREFIX).toBe('spillway');
  expect(config.SPILLWAY_NATS_URL).toBeUndefined();
  expect(config.SPILLWAY_HOST).toBe('127.0.0.1');
  expect(config.SPILLWAY_PORT).toBe(8787);
  expect(config.SPILLWAY_PARTITIONS).toBe(4);
  expect(config.SPILLWAY_PROMPT_THRESHOLD).toBe(3);
  expect(config.SPILLWAY_PROMPT_BUDGET).toBe(20);
  expect(config.SPILLWAY_TOKEN_LIFE_S).toBe(86_400);
  expect(config.SPILLWAY_DECISION_WAIT_MS).toBe(5_000);
  expect(config.SPILLWAY_CALLS_PER_SECOND).toBe(2_000);
  expect(config.SPILLWAY_FAILURE_RETENTION_DAYS).toBe(30);
  expect(config.SPILLWAY_LOG_LEVEL).toBe('info');
});

test('a blank variable is an absent one', () => {
  const config = loadConfig(schema, { ...least, SPILLWAY_PORT: ' ', SPILLWAY_NATS_URL: '' });
  expect(config.SPILLWAY_PORT).toBe(8787);
  expect(config.SPILLWAY_NATS_URL).toBeUndefined();
});

test('reads a key ring, newest first', () => {
  const config = loadConfig(schema, { ...least, SPILLWAY_KEY_RING: `k2:${key(7, 48)},k1:${key(1)}` });
  expect(config.SPILLWAY_KEY_RING.reveal()).toEqual([
    { id: 'k2', bytes: Buffer.alloc(48, 7) },
    { id: 'k1', bytes: Buffer.alloc(32, 1) },
  ]);
});

test('reads a secret from a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'config-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'ring');
  writeFileSync(file, `k9:${key(9)}\n`);
  const { SPILLWAY_KEY_RING: _, ...rest } = least;
  const config = loadConfig(schema, { ...rest, SPILLWAY_KEY_RING_FILE: file });
  expect(config.SPILLWAY_KEY_RING.reveal().map((named) => named.id)).toEqual(['k9']);
});

describe('names every variable in trouble and quotes none', () => {
  const values: Environment = {
    SPILLWAY_DATABASE_URL: 'mysql://u:p4ssw0rd@h/d',
    SPILLWAY_DEPLOYMENT: 'Prod-EU',
    SPILLWAY_NATS_URL: 'nats-at-home',
    SPILLWAY_BUS_PREFIX: 'with.dot',
    SPILLWAY_KEY_RING: `k1:${key(1, 31)}`,
    SPILLWAY_WRAP_KEYS: `w1:${key(2)},w1:${key(3)}`,
    SPILLWAY_HOST: '0.0.0.0',
    SPILLWAY_PORT: '65536',
    SPILLWAY_PARTITIONS: '0',
    SPILLWAY_PROMPT_THRESHOLD: '3.5',
    SPILLWAY_TOKEN_LIFE_S: '1e3',
    SPILLWAY_LOG_LEVEL: 'chatty',
  };
  const problems = problemsOf(values);

  test('all at once', () => {
    expect(problems.map((problem) => problem.variable).sort()).toEqual(Object.keys(values).sort());
  });

  test.each(Object.entries(values))('%s', (name, value) => {
    const { message } = new ConfigError(problems);
    expect(message).toContain(name);
    // Short numbers occur in the sentences themselves, as bounds.
    if (value !== undefined && value.length > 2 && name !== 'SPILLWAY_PORT')
      expect(message).not.toContain(value);
  });

  test('a host that is not loopback is refused with the reason', () => {
    expect(problems.find((problem) => problem.variable === 'SPILLWAY_HOST')?.problem).toContain(
      'authentication is not built yet',
    );
  });
});

test('a missing variable is named once', () => {
  expect(problemsOf({})).toEqual([
    { variable: 'SPILLWAY_DATABASE_URL', problem: 'is missing' },
    { variable: 'SPILLWAY_KEY_RING', problem: 'is missing' },
    { variable: 'SPILLWAY_WRAP_KEYS', problem: 'is missing' },
  ]);
});

test('a file that cannot be read, or stands beside the variable, is named once', () => {
  const { SPILLWAY_KEY_RING: _, ...rest } = least;
  expect(problemsOf({ ...rest, SPILLWAY_KEY_RING_FILE: '/nowhere/at/all' })).toEqual([
    { variable: 'SPILLWAY_KEY_RING_FILE', problem: 'names a file that cannot be read (ENOENT)' },
  ]);
  expect(problemsOf({ ...least, SPILLWAY_KEY_RING_FILE: '/nowhere/at/all' })).toEqual([
    {
      variable: 'SPILLWAY_KEY_RING_FILE',
      problem: 'is given beside SPILLWAY_KEY_RING; leave one of them out',
    },
  ]);
});

test.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost'])('%s is a loopback address', (host) => {
  expect(loadConfig(schema, { ...least, SPILLWAY_HOST: host }).SPILLWAY_HOST).toBe(host);
});

test('a secret cannot be printed by accident', () => {
  const config = loadConfig(schema, least);
  const printed = `${config.SPILLWAY_DATABASE_URL} ${JSON.stringify(config)} ${inspect(config, { depth: 9, showHidden: true })}`;
  expect(printed).not.toContain('hunter2');
  expect(printed).not.toContain(key(1));
  expect(config.SPILLWAY_DATABASE_URL.reveal()).toBe(database);
});

test('every variable is documented, with its default', () => {
  const docs = describeVariables(schema);
  expect(docs.filter((doc) => doc.description === '')).toEqual([]);
  expect(docs.find((doc) => doc.name === 'SPILLWAY_PARTITIONS')).toMatchObject({
    default: '4',
    required: false,
  });
  expect(docs.find((doc) => doc.name === 'SPILLWAY_DATABASE_URL')).toMatchObject({
    default: null,
    required: true,
  });
  expect(docs.map((doc) => doc.name)).toContain('SPILLWAY_WRAP_KEYS_FILE');
});

function problemsOf(env: Environment) {
  try {
    loadConfig(schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}
