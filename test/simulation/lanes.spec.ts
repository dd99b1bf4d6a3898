import { describe, expect, test } from 'vitest';
import type { CreateRequest, Workload } from '#domain/provision/lane';
import { markOf, shortRefOf } from '#domain/provision/marker';
import { allocationStream } from '#events/streams';
import type { ScenarioPod, ScenarioWorld } from './scenario.ts';
import { VirtualClock } from './virtual-clock.ts';
import { defaultScripts, World } from './world.ts';

const STREAM = allocationStream('a'.repeat(64));
const intent = (letter: string) => markOf('sim', STREAM, letter.repeat(26));
const A = intent('a');
const B = intent('b');
const QUEUED: CreateRequest = {
  pool: 'flex-start',
  zone: null,
  machine: null,
  gpu: null,
  maxRunS: null,
  workload: null,
};
const WORKLOAD: Workload = {
  command: 'run',
  arguments: null,
  image: null,
  branch: null,
  env: {},
  outputs: [],
  diskBytes: null,
  memoryBytes: null,
};
const POD: ScenarioPod = {
  id: 'P9',
  name: 'train-7',
  state: 'RUNNING',
  marker: 'none',
  workload: 'none',
  created_at: -30,
  keep: false,
};

function given(world: ScenarioWorld = {}) {
  const clock = new VirtualClock('2026-01-05T00:00:00Z');
  const newest = { intent: null as ReturnType<typeof intent> | null };
  const made = new World({
    clock,
    deployment: 'sim',
    allocation: shortRefOf(STREAM),
    newestIntent: async () => newest.intent,
    scripts: defaultScripts(),
  });
  made.change(world);
  const listedIds = async () => {
    const listed = await made.runpod.list();
    return listed.kind === 'ok' ? listed.value.map(({ id }) => id) : listed.failure.kind;
  };
  return { clock, newest, world: made, pods: made.runpod, gcp: made.gcp, listedIds };
}

describe('the terminal lane', () => {
  test('answers in the order of its list, and the last one repeats', async () => {
    const { pods, world } = given({ runpod: { create: ['capacity', 'ok:P7', 'balance'] } });
    const kinds = [];
    for (const mark of [A, A, B, B]) {
      const answer = await pods.create(mark, QUEUED);
      kinds.push(answer.kind === 'failed' ? answer.failure.kind : answer.kind);
    }
    expect(kinds).toEqual(['capacity', 'created', 'balance', 'balance']);
    expect(world.ledger.of('runpod', 'create_called')).toHaveLength(4);
    expect(pods.liveOwn).toEqual(['P7']);
  });

  test('a list that is given anew starts anew, and what is not named stays', async () => {
    const { pods, world, listedIds } = given({ runpod: { create: ['ok:P1'], list: 'fails' } });
    world.change({ runpod: { create: ['capacity'] } });
    const answer = await pods.create(A, QUEUED);
    expect(answer).toMatchObject({ kind: 'failed', failure: { kind: 'capacity' } });
    expect(await listedIds()).toBe('unavailable');
  });

  test.each([
    ['http_500_created:P1', 500, ['P1']],
    ['timeout_created:P1', null, ['P1']],
    ['timeout_nothing', null, []],
  ] as const)('the outcome of %s is unknown to the caller only', async (create, status, made) => {
    const { pods, listedIds } = given({ runpod: { create: [create] } });
    expect(await pods.create(A, QUEUED)).toMatchObject({
      kind: 'failed',
      failure: { kind: 'outcome_unknown', status },
    });
    expect(await listedIds()).toEqual(made);
  });

  test('gives no id twice', async () => {
    const { pods, listedIds } = given({ runpod: { create: ['ok:P1'] } });
    await pods.create(A, QUEUED);
    await pods.create(B, QUEUED);
    expect(await listedIds()).toEqual(['P1', 'P2']);
  });

  test('a created pod is listed exactly after the lag, a given one at once, and reads do not lag', async () => {
    const { pods, world, clock, listedIds } = given({ runpod: { list: 'lags:100' } });
    await pods.create(A, QUEUED);
    world.runpod.add(world.givenPod(POD));
    clock.moveTo(clock.atSeconds(99.999));
    expect(await listedIds()).toEqual(['P9']);
    expect(await pods.get('P1')).toMatchObject({ kind: 'ok' });
    clock.moveTo(clock.atSeconds(100));
    expect(await listedIds()).toEqual(['P1', 'P9']);
  });

  test.each([
    ['lags:10', 30_000],
    ['lags:100', 100_000],
    ['ok', 30_000],
  ])('declares for %s a grace of %i ms', (list, listingGraceMs) => {
    expect(given({ runpod: { list } }).pods.facts).toMatchObject({
      listingGraceMs,
      createDeadlineMs: 0,
      idempotentCreate: false,
    });
  });

  test('a start is guarded: a repeat starts nothing and uses up no answer', async () => {
    const { pods, world } = given({ runpod: { dispatch: ['no_ack_not_started', 'ok', 'fails'] } });
    await pods.create(A, QUEUED);
    const answers = [];
    for (let send = 0; send < 4; send += 1)
      answers.push((await pods.dispatch('P1', A.intent, WORKLOAD)).kind);
    expect(answers).toEqual(['unknown', 'started', 'started', 'started']);
    expect(world.ledger.of('runpod', 'started')).toHaveLength(1);
  });

  test('a failed preparation leaves the pod half-built, a complete one stays complete', async () => {
    const { pods } = given({ runpod: { bootstrap: ['fails', 'ok', 'fails'] } });
    await pods.create(A, QUEUED);
    expect(await pods.probe('P1')).toMatchObject({ value: { bootstrap: 'not_begun', workload: 'none' } });
    expect((await pods.bootstrap('P1')).kind).toBe('failed');
    expect(await pods.probe('P1')).toMatchObject({ value: { bootstrap: 'begun' } });
    expect((await pods.bootstrap('P1')).kind).toBe('complete');
    expect((await pods.bootstrap('P1')).kind).toBe('complete');
  });

  test.each([
    ['ok', 'gone', ['P1']],
    ['gone', 'gone', ['P1']],
    ['fails', 'failed', []],
  ] as const)('a terminate that is answered %s', async (answer, kind, terminated) => {
    const { pods, world } = given({ runpod: { terminate: [answer] } });
    await pods.create(A, QUEUED);
    expect((await pods.terminate('P1')).kind).toBe(kind);
    expect(world.ledger.instances('runpod', 'terminated')).toEqual(terminated);
    expect(world.ledger.of('runpod', 'terminate_called')).toHaveLength(1);
  });

  test.each([
    ['RUNNING', 'none', { bootstrap: 'complete', workload: 'none', result: null }],
    ['RUNNING', 'running', { bootstrap: 'complete', workload: 'running', result: null }],
    ['RUNNING', 'unknown', { bootstrap: 'complete', workload: 'unknown', result: null }],
    ['EXITED', 'done', { bootstrap: 'complete', workload: 'finished', result: 'done' }],
    ['STOPPED', 'failed', { bootstrap: 'complete', workload: 'finished', result: 'failed' }],
    ['EXITED', 'running', { bootstrap: 'unknown', workload: 'unknown', result: null }],
    ['ERROR', 'none', { bootstrap: 'unknown', workload: 'unknown', result: null }],
  ] as const)('a probe of a pod that is %s with a workload of %s', async (state, workload, value) => {
    const { pods, world } = given({ runpod: { pods: [{ ...POD, state, workload }] } });
    expect(await pods.probe('P9')).toEqual({ kind: 'ok', value });
    world.change({ runpod: { probe: 'fails' } });
    expect(await pods.probe('P9')).toMatchObject({ kind: 'failed' });
  });
});

describe('what a given pod carries', () => {
  const NONE = { deployment: null, allocation: null, intent: null };

  test('the newest intent is looked up when the pod is first seen, and then it stays', async () => {
    const { pods, newest, listedIds } = given({
      runpod: {
        pods: [
          { ...POD, id: 'P1', marker: 'this_intent' },
          { ...POD, id: 'P2', marker: 'other_name' },
        ],
      },
    });
    expect(await listedIds()).toEqual(['P1', 'P2']);
    newest.intent = A;
    await pods.list();
    newest.intent = B;
    const { name: _name, ...marker } = A;
    expect(await pods.list()).toMatchObject({
      value: [
        { id: 'P1', name: A.name, marker },
        { id: 'P2', name: 'train-7', marker },
      ],
    });
    expect(pods.liveOwn).toEqual(['P1']);
  });

  test.each([
    ['none', NONE],
    ['other_deployment', { deployment: 'other' }],
    ['other_intent', { deployment: 'sim', allocation: 'a'.repeat(16) }],
  ] as const)('%s', async (marker, shown) => {
    const { pods, newest } = given({ runpod: { pods: [{ ...POD, marker }] } });
    newest.intent = A;
    const listed = await pods.list();
    expect(listed).toMatchObject({ value: [{ name: 'train-7', marker: shown }] });
    expect(listed).not.toMatchObject({ value: [{ marker: { intent: A.intent } }] });
    expect(pods.liveOwn).toEqual([]);
  });

  test('it is untouched until something is sent to it, and gone when it is replaced', async () => {
    const { pods, world } = given({ runpod: { pods: [POD], terminate: ['fails'] } });
    await pods.list();
    await pods.probe('P9');
    expect(pods.isUntouched('P9')).toBe(true);
    await pods.terminate('P9');
    expect(pods.isUntouched('P9')).toBe(false);
    world.replacePods([]);
    expect(pods.isUntouched('P9')).toBe(false);
  });
});

describe('a primary lane', () => {
  const create = async (gcp: ReturnType<typeof given>['gcp'], mark = A) => {
    const answer = await gcp.create(mark, QUEUED);
    return answer.kind === 'created' ? answer.instance.id : answer.kind;
  };

  test('a repeated create of one intent makes no second machine and uses up no answer', async () => {
    const { gcp } = given({ gcp: { create: ['ok:X4', 'ok:X5'] } });
    expect([await create(gcp), await create(gcp), await create(gcp, B)]).toEqual(['X4', 'X4', 'X5']);
  });

  test('a state that cannot be read uses up its answer, and nothing is sent', async () => {
    const { gcp, world } = given({ gcp: { create: ['probe_error', 'stockout', 'workload_error'] } });
    expect(await gcp.probeLane(QUEUED)).toMatchObject({ kind: 'failed', failure: { sent: false } });
    expect(await gcp.probeLane(QUEUED)).toMatchObject({ kind: 'ok' });
    expect(await gcp.create(A, QUEUED)).toMatchObject({ failure: { kind: 'capacity' } });
    expect(await gcp.create(B, QUEUED)).toMatchObject({ kind: 'workload_error' });
    expect(world.ledger.of('gcp', 'create_called')).toHaveLength(2);
  });

  test('a queued instance that turns out to run shows it to whoever reads it before the cancel', async () => {
    const { gcp, world } = given({ gcp: { cancel: 'now_running' } });
    gcp.place('X1', 'flex-start');
    expect(await gcp.get('X1')).toMatchObject({ value: { instance: { state: 'running' } } });
    expect(world.ledger.instances('gcp', 'terminated')).toEqual([]);
  });

  test('only a cancel that took effect ends an instance', async () => {
    const { gcp, world } = given({ gcp: { cancel: 'fails' } });
    gcp.place('X1', 'on-demand');
    expect((await gcp.terminate('X1')).kind).toBe('failed');
    world.change({ gcp: { cancel: 'ok' } });
    expect((await gcp.terminate('X1')).kind).toBe('gone');
    expect((await gcp.terminate('X1')).kind).toBe('gone');
    expect(world.ledger.of('gcp', 'terminated')).toHaveLength(1);
  });

  test('an instance is as the newest poll says', async () => {
    const { gcp } = given();
    gcp.place('X1', 'flex-start');
    gcp.observed('X1', 'not_found', 200);
    gcp.observed('X1', 'running', 100);
    expect(gcp.standing).toEqual([]);
    gcp.observed('X1', 'terminated', 300);
    expect(gcp.standing).toMatchObject([{ id: 'X1', state: 'terminated' }]);
  });
});
