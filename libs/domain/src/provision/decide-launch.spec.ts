import { describe, expect, test } from 'vitest';
import { OUTCOMES } from '#events/watch.events';
import { LANES, launchOf } from '#support/launch-bodies';
import { NOT_PLACED, type Placement } from '../placement.ts';
import { decideLaunch } from './decide-launch.ts';
import { BUILT_IN_LIMITS } from './limits.ts';
import { resolvePlan } from './plan.ts';

const plan = resolvePlan(launchOf(), LANES, BUILT_IN_LIMITS);
const accepted = { launch: 'l'.repeat(26), plan, requestDigest: null, workloadDigest: null };
const launch = {
  id: 'k'.repeat(26),
  version: 1,
  at: '2026-01-05T00:00:00.000Z',
  plan,
  requestDigest: null,
  workloadDigest: null,
};
const launched: Placement = { ...NOT_PLACED, version: 1, launch, outcome: 'waiting' };
const TAKEN = { kind: 'taken', accepted };
const REFUSED = { kind: 'refused', why: 'launch_in_progress' };

const openIntent: Placement['intents'][number] = {
  intent: 'i'.repeat(26),
  name: 'n',
  lane: 'gcp',
  entry: { kind: 'terminal' },
  chain: 'c',
  requestDigest: 'd'.repeat(64),
  launchVersion: 1,
  sends: 0,
  unknownSends: 0,
  sendNotAfter: null,
  ended: null,
  instance: null,
  instanceCreatedAt: null,
  instancePool: null,
  costPerHourUsd: null,
  bootstrapBegunAt: null,
  dispatches: 0,
  running: false,
  reaping: null,
  reaped: [],
  closed: null,
};

test('a first launch is taken, also after attempts were reported', () => {
  expect(decideLaunch(NOT_PLACED, accepted)).toEqual(TAKEN);
  expect(decideLaunch({ ...NOT_PLACED, version: 7 }, accepted)).toEqual(TAKEN);
});

describe('a further launch is', () => {
  const free = new Set(['blocked', 'done']);
  test.each(OUTCOMES.filter((outcome) => free.has(outcome)))('taken while %s', (outcome) => {
    expect(decideLaunch({ ...launched, outcome }, accepted)).toEqual(TAKEN);
  });
  test.each(OUTCOMES.filter((outcome) => !free.has(outcome)))('refused while %s', (outcome) => {
    expect(decideLaunch({ ...launched, outcome }, accepted)).toEqual(REFUSED);
  });
  test('refused while blocked with an intent open, and taken once that is closed', () => {
    const blocked: Placement = { ...launched, outcome: 'blocked' };
    const closed = { ...openIntent, closed: 'blocked' as const };
    expect(decideLaunch({ ...blocked, intents: [closed, openIntent] }, accepted)).toEqual(REFUSED);
    expect(decideLaunch({ ...blocked, intents: [closed, closed] }, accepted)).toEqual(TAKEN);
  });
});
