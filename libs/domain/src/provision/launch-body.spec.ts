import { describe, expect, test } from 'vitest';
import { badMembersOf } from '#platform/bad-members';
import { LANES, LAUNCH_BODY, launchOf } from '#support/launch-bodies';
import { keyRing } from '../key-ring.ts';
import { launchBody, launchBodyDigest } from './launch-body.ts';

const schema = launchBody({ lanes: LANES });

function read(body: unknown, as = schema) {
  const parsed = as.safeParse(JSON.parse(JSON.stringify(body)), { reportInput: true });
  if (parsed.success) return { body: parsed.data };
  return { bad: badMembersOf(parsed.error, as).map(({ pointer, code }) => `${pointer} ${code}`) };
}

const [FLEX, OD] = LAUNCH_BODY.plan.rungs;
const planWith = (change: object) => ({ ...LAUNCH_BODY, plan: { ...LAUNCH_BODY.plan, ...change } });
const rungWith = (change: object) => planWith({ rungs: [{ ...FLEX, ...change }] });
const workload = (change: object) => ({ ...LAUNCH_BODY, workload: change });
const x = (length: number) => 'x'.repeat(length);
const rungs = (many: number) => Array.from({ length: many }, (_, index) => ({ ...OD, id: `r${index}` }));

describe('takes', () => {
  test('the ordinary launch as it is', () => {
    expect(read(LAUNCH_BODY)).toEqual({ body: LAUNCH_BODY });
  });

  test.each([
    { reason: 'no workload: provision only', body: { ...LAUNCH_BODY, workload: undefined } },
    { reason: 'no terminal entry', body: planWith({ terminal: undefined }) },
    { reason: 'a batch lane as a rung', body: rungWith({ lane: 'kubernetes', pool: 'batch' }) },
    {
      reason: '32 zones',
      body: rungWith({ zones: Array.from({ length: 32 }, (_, zone) => `z${zone}`) }),
    },
    { reason: 'a rung id and a zone of 64 characters', body: rungWith({ id: x(64), zones: [x(64)] }) },
    {
      reason: 'the longest limits',
      body: { ...LAUNCH_BODY, limits: { worker_lease_s: 86_400, capacity_retry_backoff_s: 366 * 86_400 } },
    },
    { reason: '32 rungs', body: planWith({ rungs: rungs(32) }) },
    { reason: 'a message id of 128 characters', body: { ...LAUNCH_BODY, message_id: x(128) } },
    { reason: 'arguments instead of a command', body: workload({ arguments: ['run', ''] }) },
    { reason: 'an empty variable', body: workload({ command: 'run', env: { MODE: '' } }) },
    {
      reason: 'the 13 invariants, out of range too',
      body: { ...LAUNCH_BODY, request: { gpu_count: 0, image: '' } },
    },
    { reason: 'a limit of a fraction', body: { ...LAUNCH_BODY, limits: { wedge_budget_factor: 0.5 } } },
    { reason: 'the shortest lease', body: { ...LAUNCH_BODY, limits: { worker_lease_s: 60 } } },
    {
      reason: 'a terminal entry with as many GPUs as the smallest rung',
      body: planWith({
        rungs: [
          { ...FLEX, gpu: { count: 4 } },
          { ...OD, gpu: { count: 8 } },
        ],
        terminal: { lane: 'runpod', gpu: { count: 4 } },
      }),
    },
    {
      reason: 'a terminal entry that states GPUs where no rung does',
      body: planWith({ terminal: { lane: 'runpod', gpu: { count: 8 } } }),
    },
    {
      reason: 'a terminal entry with just the disk and memory of the workload',
      body: {
        ...planWith({ terminal: { lane: 'runpod', disk_bytes: 10, memory_bytes: 20 } }),
        workload: { command: 'run', disk_bytes: 10, memory_bytes: 20 },
      },
    },
  ])('$reason', ({ body }) => {
    expect(read(body)).toEqual({ body: JSON.parse(JSON.stringify(body)) });
  });

  test('null for every optional member, as if it were absent', () => {
    const nulls = {
      ...LAUNCH_BODY,
      message_id: null,
      request: null,
      limits: { creates_per_day: null },
      workload: { command: 'run', arguments: null, env: { A: null }, outputs: null, disk_bytes: null },
      plan: {
        ...LAUNCH_BODY.plan,
        budget_s: null,
        rungs: [{ ...FLEX, zones: null, machine: null, gpu: null, max_run_s: null }, OD],
        terminal: { lane: 'runpod', machine: null, gpu: null },
      },
    };
    expect(read(nulls).body).toEqual({ ...LAUNCH_BODY, limits: {}, workload: { command: 'run', env: {} } });
  });

  test('unknown members at every level, and passes over them', () => {
    const unknown = {
      ...planWith({ colour: 1, rungs: [{ ...FLEX, colour: 1 }, OD] }),
      colour: 1,
      limits: { colour: -1 },
    };
    expect(read(unknown).body).toEqual({ ...LAUNCH_BODY, limits: {} });
  });

  test('a short lease in the simulation only', () => {
    const body = { ...LAUNCH_BODY, limits: { worker_lease_s: 5 } };
    expect(read(body).bad).toEqual(['/limits/worker_lease_s out_of_range']);
    expect(read(body, launchBody({ lanes: LANES, workerLeaseMinS: 0 })).body).toEqual(body);
  });
});

describe('refuses', () => {
  test.each([
    { body: [], bad: ' wrong_type' },
    { body: { ...LAUNCH_BODY, logical_allocation: ' ' }, bad: '/logical_allocation empty' },
    { body: { ...LAUNCH_BODY, message_id: x(129) }, bad: '/message_id too_long' },
    { body: { ...LAUNCH_BODY, message_id: '' }, bad: '/message_id empty' },
    { body: { ...LAUNCH_BODY, failover: undefined }, bad: '/failover required' },
    { body: { ...LAUNCH_BODY, failover: 'maybe' }, bad: '/failover not_allowed' },
    { body: { ...LAUNCH_BODY, plan: undefined }, bad: '/plan required' },
    { body: planWith({ rungs: [] }), bad: '/plan/rungs empty' },
    { body: planWith({ rungs: rungs(33) }), bad: '/plan/rungs too_many' },
    // More than an event holds, and less than a body may.
    {
      body: planWith({
        rungs: rungs(32).map((rung) => ({ ...rung, pool: '€'.repeat(1_024), machine: '€'.repeat(1_024) })),
      }),
      bad: '/plan too_long',
    },
    { body: planWith({ rungs: [FLEX, { ...OD, id: FLEX.id }] }), bad: '/plan/rungs/1/id not_allowed' },
    { body: rungWith({ pool: undefined }), bad: '/plan/rungs/0/pool required' },
    { body: rungWith({ lane: 'nebula' }), bad: '/plan/rungs/0/lane not_allowed' },
    { body: rungWith({ lane: 'runpod' }), bad: '/plan/rungs/0/lane not_allowed' },
    { body: rungWith({ lane: '__proto__' }), bad: '/plan/rungs/0/lane not_allowed' },
    { body: rungWith({ zones: 'a' }), bad: '/plan/rungs/0/zones wrong_type' },
    {
      body: rungWith({ zones: Array.from({ length: 33 }, (_, zone) => `z${zone}`) }),
      bad: '/plan/rungs/0/zones too_many',
    },
    { body: rungWith({ zones: [x(65)] }), bad: '/plan/rungs/0/zones/0 too_long' },
    { body: rungWith({ id: x(65) }), bad: '/plan/rungs/0/id too_long' },
    { body: rungWith({ zones: [null] }), bad: '/plan/rungs/0/zones/0 wrong_type' },
    { body: rungWith({ gpu: { count: 0 } }), bad: '/plan/rungs/0/gpu/count out_of_range' },
    { body: rungWith({ gpu: { count: 1.5 } }), bad: '/plan/rungs/0/gpu/count wrong_type' },
    { body: rungWith({ max_run_s: 0 }), bad: '/plan/rungs/0/max_run_s out_of_range' },
    { body: planWith({ budget_s: -1 }), bad: '/plan/budget_s out_of_range' },
    { body: planWith({ budget_s: '60' }), bad: '/plan/budget_s wrong_type' },
    { body: planWith({ terminal: { lane: 'gcp' } }), bad: '/plan/terminal/lane not_allowed' },
    { body: workload({ image: 'i' }), bad: '/workload/command required' },
    { body: workload({ command: 'a', arguments: ['b'] }), bad: '/workload/arguments not_allowed' },
    { body: workload({ command: '' }), bad: '/workload/command empty' },
    { body: workload({ arguments: [] }), bad: '/workload/arguments empty' },
    { body: workload({ command: 'a', env: ['A'] }), bad: '/workload/env wrong_type' },
    { body: workload({ command: 'a', disk_bytes: 0 }), bad: '/workload/disk_bytes out_of_range' },
    { body: { ...LAUNCH_BODY, request: { gpu_count: '4' } }, bad: '/request/gpu_count wrong_type' },
    { body: { ...LAUNCH_BODY, limits: { creates_per_day: 0 } }, bad: '/limits/creates_per_day out_of_range' },
    { body: { ...LAUNCH_BODY, limits: { boot_deaths: '2' } }, bad: '/limits/boot_deaths wrong_type' },
    {
      body: { ...LAUNCH_BODY, limits: { queue_wait_s: 366 * 86_400 + 1 } },
      bad: '/limits/queue_wait_s out_of_range',
    },
    {
      body: { ...LAUNCH_BODY, limits: { worker_lease_s: 86_401 } },
      bad: '/limits/worker_lease_s out_of_range',
    },
    {
      body: { ...LAUNCH_BODY, limits: { creates_per_day: 2 ** 53 } },
      bad: '/limits/creates_per_day out_of_range',
    },
    {
      body: planWith({
        rungs: [
          { ...FLEX, gpu: { count: 4 } },
          { ...OD, gpu: { count: 8 } },
        ],
        terminal: { lane: 'runpod', gpu: { count: 5 } },
      }),
      bad: '/plan/terminal/gpu/count out_of_range',
    },
    {
      body: {
        ...planWith({ terminal: { lane: 'runpod', disk_bytes: 9 } }),
        workload: { command: 'run', disk_bytes: 10 },
      },
      bad: '/plan/terminal/disk_bytes out_of_range',
    },
    {
      body: {
        ...planWith({ terminal: { lane: 'runpod', memory_bytes: 19 } }),
        workload: { command: 'run', memory_bytes: 20 },
      },
      bad: '/plan/terminal/memory_bytes out_of_range',
    },
  ])('$bad', ({ body, bad }) => {
    expect(read(body)).toEqual({ bad: [bad] });
  });

  test('all bad members at once, those that are compared too', () => {
    const body = {
      ...LAUNCH_BODY,
      logical_allocation: 7,
      failover: null,
      plan: { rungs: [FLEX, { ...OD, id: FLEX.id, lane: 'nebula', zones: 1 }] },
      workload: { command: 'a', arguments: ['b'], disk_bytes: 'big' },
      limits: { boot_deaths: -1 },
    };
    expect(read(body).bad?.toSorted()).toEqual([
      '/failover wrong_type',
      '/limits/boot_deaths out_of_range',
      '/logical_allocation wrong_type',
      '/plan/rungs/1/id not_allowed',
      '/plan/rungs/1/lane not_allowed',
      '/plan/rungs/1/zones wrong_type',
      '/workload/arguments not_allowed',
      '/workload/disk_bytes wrong_type',
    ]);
  });

  test('a variable without quoting its name', () => {
    expect(read(workload({ command: 'a', env: { SECRET: 7 } })).bad).toEqual(['/workload/env wrong_type']);
  });
});

describe('the digest of a body', () => {
  const key = keyRing([{ id: 'k', bytes: new Uint8Array(32).fill(7) }]).newest;
  const of = (change: object) => launchBodyDigest(launchOf(change), key);

  test('is the same for null and absent members, and whatever the id is', () => {
    const { plan } = LAUNCH_BODY;
    expect(of({ message_id: 'm1', request: null })).toBe(of({ message_id: 'm2' }));
    expect(of({ plan: { ...plan, rungs: [{ ...FLEX, zones: null }, OD] } })).toBe(of({}));
  });
  test.each([
    { reason: 'another workload', change: { workload: { command: 'walk' } } },
    { reason: 'another variable', change: { workload: { command: 'run', env: { A: '1' } } } },
    { reason: 'another consent', change: { failover: 'ask' } },
    { reason: 'another order of rungs', change: { plan: { ...LAUNCH_BODY.plan, rungs: [OD, FLEX] } } },
  ])('is another one for $reason', ({ change }) => {
    expect(of(change)).not.toBe(of({}));
  });
});
