import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { laneDirectory, STAND_IN_LANES } from '#domain/provision/lane-directory';
import { BUILT_IN_LIMITS } from '#domain/provision/limits';
import { planVariables } from './lane-variables.ts';
import { loadConfig } from './load-config.ts';

const load = (env: Readonly<Record<string, string>>) => loadConfig(z.object(planVariables), env);

describe('the lanes', () => {
  test('are those of the stand-in cloud where none are configured', () => {
    expect(load({}).SPILLWAY_LANES).toEqual(laneDirectory(STAND_IN_LANES));
  });
  test('have the kind and the queueing pools that their driver declares, under any name', () => {
    const text = JSON.stringify([
      { lane: 'cheap', driver: 'kubernetes', kind: 'batch', token: 'secret', pools: { low: {} } },
      { lane: 'own', driver: 'kubernetes', kind: 'primary' },
      { lane: 'cloud', driver: 'gcp', project: 'p' },
      { lane: 'last', driver: 'runpod', apiKey: 'secret' },
    ]);
    expect([...load({ SPILLWAY_LANES: text }).SPILLWAY_LANES.values()]).toEqual([
      { lane: 'cheap', kind: 'batch', queueingPools: ['low'] },
      { lane: 'own', kind: 'primary', queueingPools: [] },
      { lane: 'cloud', kind: 'primary', queueingPools: ['flex-start'] },
      { lane: 'last', kind: 'terminal', queueingPools: [] },
    ]);
  });
  test.each([
    { reason: 'no JSON', text: '[{"lane":"secret-lane"' },
    { reason: 'no list', text: '{"lane":"secret-lane","driver":"gcp"}' },
    { reason: 'an empty list', text: '[]' },
    { reason: 'an unknown driver', text: '[{"lane":"secret-lane","driver":"abacus"}]' },
    {
      reason: 'a kind that its driver does not serve',
      text: '[{"lane":"secret-lane","driver":"kubernetes","kind":"terminal"}]',
    },
    { reason: 'a name that cannot stand in a subject', text: '[{"lane":"Secret Lane","driver":"gcp"}]' },
    {
      reason: 'one name twice',
      text: '[{"lane":"secret-lane","driver":"gcp"},{"lane":"secret-lane","driver":"runpod"}]',
    },
  ])('are refused by name and never by value: $reason', ({ text }) => {
    expect(() => load({ SPILLWAY_LANES: text })).toThrow('SPILLWAY_LANES: is no JSON list of lanes');
    expect(() => load({ SPILLWAY_LANES: text })).not.toThrow(/secret/i);
  });
});

describe('the limits', () => {
  test('are the built-in ones where none are configured', () => {
    expect(load({}).SPILLWAY_LIMITS).toEqual({ limits: BUILT_IN_LIMITS, bad: [] });
  });
  test('start the app whatever they hold: a bad one reads as the built-in default', () => {
    expect(load({ SPILLWAY_LIMITS: '{"queue_wait_s":30,"boot_deaths":-1}' }).SPILLWAY_LIMITS).toEqual({
      limits: { ...BUILT_IN_LIMITS, queueWaitS: 30 },
      bad: ['boot_deaths'],
    });
    expect(load({ SPILLWAY_LIMITS: '{"queue_wait_s":' }).SPILLWAY_LIMITS.bad).toEqual(['limits']);
  });
});
