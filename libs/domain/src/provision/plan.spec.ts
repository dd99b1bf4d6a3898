import { describe, expect, test } from 'vitest';
import { Plan } from '#events/plan';
import { LANES, LAUNCH_BODY, launchOf } from '#support/launch-bodies';
import { keyRing } from '../key-ring.ts';
import { laneDirectory } from './lane-directory.ts';
import { BUILT_IN_LIMITS } from './limits.ts';
import { resolvePlan, SealedWorkload, workloadDigest, workloadOf } from './plan.ts';

const resolve = (change: object = {}) => resolvePlan(launchOf(change), LANES, BUILT_IN_LIMITS);
const absent = { zones: [], machine: null, gpu: null, maxRunS: null };

test('the ordinary launch is recorded with everything that it did not say', () => {
  expect(resolve()).toEqual({
    rungs: [
      { id: 'flex_a', lane: 'gcp', kind: 'primary', pool: 'flex-start', queues: true, ...absent },
      { id: 'od_a', lane: 'gcp', kind: 'primary', pool: 'on-demand', queues: false, ...absent },
    ],
    terminal: { lane: 'runpod', machine: null, gpu: null },
    budgetS: null,
    failover: 'standing',
    limits: BUILT_IN_LIMITS,
    hasWorkload: true,
  });
  expect(Plan.parse(resolve())).toEqual(resolve());
});

test('what it said stands as it is, and the terminal entry keeps no bound that was only checked', () => {
  const plan = resolve({
    plan: {
      rungs: [
        {
          id: 'b',
          lane: 'kubernetes',
          pool: 'batch',
          zones: ['z2', 'z1'],
          machine: 'm',
          gpu: { family: 'hopper', count: 4 },
          max_run_s: 60,
        },
      ],
      budget_s: 3_600,
      terminal: { lane: 'runpod', machine: 't', gpu: { product: 'H100', count: 2 }, disk_bytes: 9 },
    },
    limits: { boot_deaths: 3 },
    failover: 'never',
    workload: null,
  });
  expect(plan).toEqual({
    rungs: [
      {
        id: 'b',
        lane: 'kubernetes',
        kind: 'batch',
        pool: 'batch',
        queues: true,
        zones: ['z2', 'z1'],
        machine: 'm',
        gpu: { family: 'hopper', product: null, count: 4 },
        maxRunS: 60,
      },
    ],
    terminal: { lane: 'runpod', machine: 't', gpu: { family: null, product: 'H100', count: 2 } },
    budgetS: 3_600,
    failover: 'never',
    limits: { ...BUILT_IN_LIMITS, bootDeaths: 3 },
    hasWorkload: false,
  });
});

test('whether a pool queues is what its lane declares', () => {
  const lanes = laneDirectory([{ lane: 'gcp', kind: 'primary', queueingPools: ['on-demand'] }]);
  const { rungs } = resolvePlan(launchOf(), lanes, BUILT_IN_LIMITS);
  expect(rungs.map(({ queues }) => queues)).toEqual([false, true]);
});

test('a lane that is not there is a mistake of ours', () => {
  expect(() => resolvePlan(launchOf(), new Map(), BUILT_IN_LIMITS)).toThrow('no lane for rungs');
});

test('two lanes of one id are refused', () => {
  const lane = { lane: 'gcp', kind: 'primary', queueingPools: [] } as const;
  expect(() => laneDirectory([lane, lane])).toThrow('same id');
});

describe('the workload', () => {
  const key = keyRing([{ id: 'k', bytes: new Uint8Array(32).fill(7) }]).newest;
  const full = {
    arguments: ['a', 'b'],
    image: 'i',
    branch: 'main',
    env: { TOKEN: 's', GONE: null },
    outputs: ['out'],
    disk_bytes: 1,
    memory_bytes: 2,
  };

  test('is sealed with everything that is to run', () => {
    const workload = workloadOf(launchOf({ workload: full }));
    expect(workload).toEqual({
      command: null,
      arguments: ['a', 'b'],
      image: 'i',
      branch: 'main',
      env: { TOKEN: 's' },
      outputs: ['out'],
      diskBytes: 1,
      memoryBytes: 2,
    });
    expect(SealedWorkload.parse(workload)).toEqual(workload);
  });
  test('is nothing where nothing is to run', () => {
    expect(workloadOf(launchOf({ workload: null }))).toBeNull();
    expect(LAUNCH_BODY.workload).toBeDefined();
  });
  test('has another address for another content', () => {
    const of = (workload: object) => {
      const text = workloadOf(launchOf({ workload }));
      return text === null ? null : workloadDigest(text, key);
    };
    expect(of(full)).toMatch(/^[0-9a-f]{64}$/);
    expect(of(full)).toBe(of({ ...full, env: { TOKEN: 's' } }));
    expect(of(full)).not.toBe(of({ ...full, env: { TOKEN: 't' } }));
  });
});
