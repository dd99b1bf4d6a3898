import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { givenLanes, givenVariables } from './given-variables.ts';

describe('variables that npm start was given', () => {
  test.each([
    'SPILLWAY_OBSERVE_ONLY',
    'SPILLWAY_TERMINAL_CREATES_PER_HOUR',
    'SPILLWAY_TERMINAL_BILLING_MAX',
    'SPILLWAY_DEPLOYMENT',
    'SPILLWAY_PUBLIC_URL',
    'SPILLWAY_HOST_NAMES',
    'SPILLWAY_WEBHOOK_SECRETS_FILE',
    'SPILLWAY_ACCESS_LOG_FILE',
    'SPILLWAY_TOKEN_LIFE_S',
  ])('%s reaches the apps', (name) => {
    expect(givenVariables({ [name]: 'given' })).toEqual({ [name]: 'given' });
  });

  test.each([
    'SPILLWAY_PORT',
    'SPILLWAY_HOST',
    'SPILLWAY_DATABASE_URL',
    'SPILLWAY_DATABASE_URL_FILE',
    'SPILLWAY_KEY_RING_FILE',
    'SPILLWAY_POSTGRES_URL',
    'SPILLWAY_NATS_URL',
    'SPILLWAY_LANES_FILE',
    'SPILLWAY_KILL_AT',
    'HOME',
  ])('%s does not', (name) => {
    expect(givenVariables({ [name]: 'given' })).toEqual({});
  });

  test('one that is set to nothing is as if it were not set', () => {
    expect(givenVariables({ SPILLWAY_OBSERVE_ONLY: '', SPILLWAY_DEPLOYMENT: undefined })).toEqual({});
  });
});

describe('lanes that npm start was given', () => {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-lanes-'));
  const file = join(folder, 'lanes.json');
  writeFileSync(file, '[]');
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each([
    ['as text', { SPILLWAY_LANES: '[1]' }, '[1]'],
    ['as a file', { SPILLWAY_LANES_FILE: file }, '[]'],
    ['not at all', { SPILLWAY_LANES: '', SPILLWAY_LANES_FILE: '' }, undefined],
  ])('%s', (_, env, lanes) => {
    expect(givenLanes(env)).toBe(lanes);
  });

  test('as a file that is not there stops the start: a stand-in cloud would hide it', () => {
    expect(() => givenLanes({ SPILLWAY_LANES_FILE: join(folder, 'missing') })).toThrow('SPILLWAY_LANES_FILE');
  });
});
