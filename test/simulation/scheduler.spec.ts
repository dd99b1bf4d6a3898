import { describe, expect, test } from 'vitest';
import { killAt, laneOf } from './ports.ts';
import { type Actor, EndlessSchedule, interruptedAfter, oneAfterTheOther, Scheduler } from './scheduler.ts';
import { VirtualClock } from './virtual-clock.ts';
import { defaultScripts, World } from './world.ts';

const START = '2026-01-05T00:00:00Z';
const actor = (name: string): Actor => ({ name, slot: name === 'b' ? 1 : 0, isDead: false });

function given(choose: ConstructorParameters<typeof Scheduler>[0]['choose'] = () => 0) {
  const clock = new VirtualClock(START);
  const said: string[] = [];
  const scheduler = new Scheduler({
    clock,
    choose,
    onCall: ({ name }, label) => said.push(`${name} ${label}`),
  });
  const calls = (who: Actor, labels: readonly string[]) => async () => {
    for (const label of labels) await scheduler.call(who, label, async () => label);
  };
  return { clock, said, scheduler, calls };
}

describe('who goes on', () => {
  test('one after the other', async () => {
    const { scheduler, calls, said } = given(oneAfterTheOther([1, 0]));
    scheduler.spawn(calls(actor('a'), ['1', '2']));
    scheduler.spawn(calls(actor('b'), ['1', '2']));
    await scheduler.run();
    expect(said).toEqual(['b 1', 'b 2', 'a 1', 'a 2']);
  });

  test.each([
    [0, ['b 1', 'b 2', 'a 1', 'a 2', 'a 3']],
    [1, ['a 1', 'b 1', 'b 2', 'a 2', 'a 3']],
    [2, ['a 1', 'a 2', 'b 1', 'b 2', 'a 3']],
    [9, ['a 1', 'a 2', 'a 3', 'b 1', 'b 2']],
  ])('interrupted after %i calls', async (made, story) => {
    const { scheduler, calls, said } = given(interruptedAfter(0, made).choose);
    scheduler.spawn(calls(actor('a'), ['1', '2', '3']));
    scheduler.spawn(calls(actor('b'), ['1', '2']));
    await scheduler.run();
    expect(said).toEqual(story);
  });
});

describe('time', () => {
  test('passes only while everybody waits', async () => {
    const { scheduler, clock } = given();
    const woke: string[] = [];
    const sleeper = (name: string, ms: number) => async () => {
      await scheduler.sleep(actor(name), ms);
      woke.push(`${name} ${clock.monotonicMs()}`);
    };
    scheduler.spawn(sleeper('late', 5_000));
    scheduler.spawn(sleeper('early', 2_000));
    await scheduler.run(clock.atSeconds(3));
    expect(woke).toEqual(['early 2000']);
    expect(clock.monotonicMs()).toBe(3_000);
    await scheduler.run();
    expect(woke).toEqual(['early 2000', 'late 5000']);
    expect(clock.now()).toBe('2026-01-05T00:00:05.000Z');
  });

  test('a delayed call takes effect between request and answer', async () => {
    const clock = new VirtualClock(START);
    const delays = () => ({ beforeMs: 1_000, afterMs: 2_000 });
    const scheduler = new Scheduler({ clock, choose: () => 0, delays });
    const at: number[] = [];
    scheduler.spawn(async () => {
      await scheduler.call(actor('a'), 'slow', async () => at.push(clock.monotonicMs()));
      at.push(clock.monotonicMs());
    });
    await scheduler.run();
    expect(at).toEqual([1_000, 3_000]);
  });

  test('never goes back', () => {
    const clock = new VirtualClock(START);
    clock.moveTo(clock.atSeconds(10));
    clock.moveTo(clock.atSeconds(5));
    expect(clock.monotonicMs()).toBe(10_000);
    expect(clock.skewed(-2_000).now()).toBe('2026-01-05T00:00:08.000Z');
  });
});

test('an error of an actor ends the run', async () => {
  const { scheduler } = given();
  scheduler.spawn(async () => {
    await scheduler.call(actor('a'), 'fails', async () => Promise.reject(new Error('impossible')));
  });
  await expect(scheduler.run()).rejects.toThrow('impossible');
});

test('a loop that never ends is a fault', async () => {
  const { scheduler } = given();
  scheduler.spawn(async () => {
    for (;;) await scheduler.sleep(actor('a'), 1);
  });
  await expect(scheduler.run()).rejects.toThrow(EndlessSchedule);
}, 60_000);

describe('death', () => {
  function atLane(point: Parameters<typeof killAt>[2]) {
    const { scheduler, clock, said } = given();
    const world = new World({
      clock,
      deployment: 'sim',
      allocation: 'a'.repeat(16),
      newestIntent: async () => null,
      scripts: defaultScripts(),
    });
    const worker = actor('worker');
    const ambush = { point };
    const options = {
      actor: worker,
      scheduler,
      ambush,
      onHalfBuilt: (id: string) => world.runpod.beginBootstrap(id),
    };
    return { scheduler, said, world, worker, ambush, options, lane: laneOf(world.runpod, options) };
  }
  const MARK = { name: 'sw', deployment: 'sim', allocation: 'a'.repeat(16), intent: 'a'.repeat(26) };
  const REQUEST = { pool: null, zone: null, machine: null, gpu: null, maxRunS: null, workload: null };

  test('at a point of the log nothing runs afterwards, not even what must always run', async () => {
    const { scheduler, worker, ambush } = atLane('created_recorded');
    const ran: string[] = [];
    scheduler.spawn(async () => {
      try {
        await killAt(worker, ambush, 'intent_recorded');
        ran.push('lives');
        await killAt(worker, ambush, 'created_recorded');
        ran.push('lives on');
      } finally {
        ran.push('cleans up');
      }
    });
    await scheduler.run();
    expect(ran).toEqual(['lives']);
    expect(worker.isDead).toBe(true);
    expect(ambush.point).toBeNull();
  });

  test('with a call in flight the lane acts, and the reply is never read', async () => {
    const { scheduler, world, worker, lane } = atLane('create_in_flight');
    const read: unknown[] = [];
    scheduler.spawn(async () => {
      read.push(await lane.create(MARK, REQUEST));
    });
    await scheduler.run();
    expect(read).toEqual([]);
    expect(worker.isDead).toBe(true);
    expect(world.runpod.liveOwn).toEqual(['P1']);
  });

  test('half-way through a preparation the pod is half-built', async () => {
    const { scheduler, world, lane } = atLane('bootstrapping');
    scheduler.spawn(async () => {
      await lane.create(MARK, REQUEST);
      await lane.bootstrap('P1');
    });
    await scheduler.run();
    expect(await world.runpod.probe('P1')).toMatchObject({ value: { bootstrap: 'begun' } });
  });

  test('a create that was sent lands although its sender died, a listing is not even made', async () => {
    const { scheduler, world, worker, lane, said } = atLane('decided');
    scheduler.spawn(async () => {
      const sent = [lane.create(MARK, REQUEST), lane.list()];
      worker.isDead = true;
      await Promise.all(sent);
      said.push('lives on');
    });
    await scheduler.run();
    expect(world.runpod.liveOwn).toEqual(['P1']);
    expect(said).toEqual([`worker runpod.create ${MARK.intent}`]);
  });
});
