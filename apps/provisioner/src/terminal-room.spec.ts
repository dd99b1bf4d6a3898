import { describe, expect, test } from 'vitest';
import { commandDigest } from '#domain/command-digest';
import { afterFacts, eventOfFact, type Fact, type Standing } from '#domain/fact';
import { type LeaseStep, LogUnavailable } from '#domain/log';
import { placementRowOf } from '#domain/placement-row';
import { InMemoryLog } from '#event-log/in-memory-log';
import { eventIdOf } from '#events/envelope';
import type { Entry } from '#events/intent.events';
import { allocationStream } from '#events/streams';
import { digestOf } from '#support/builders';
import {
  createEnded,
  createSending,
  instanceCreated,
  intentId,
  intentRecorded,
  withOpenIntent,
} from '#support/provision-builders';
import { gone, Story, verdictOf } from '#support/watch-builders';
import { type TerminalLimits, TerminalRoom } from './terminal-room.ts';

const HOUR_MS = 3_600_000;
const T0_MS = Date.parse('2026-11-29T10:00:00.000Z');

type Recorded = { readonly kind: 'recorded' | 'fenced' };

/** A log whose clock is moved by hand, and rooms over it that share nothing but the log. */
function world(limits: Partial<TerminalLimits>) {
  let nowMs = T0_MS;
  const log = new InMemoryLog({ logId: 'test', now: () => nowMs });
  const standings = new Map<string, Standing>();
  let commands = 0;
  const append = async (stream: string, facts: readonly Fact[], step?: LeaseStep): Promise<Recorded> => {
    commands += 1;
    const commandId = `test-${commands}`;
    const at = new Date(nowMs).toISOString();
    const after = afterFacts(standings.get(stream) ?? new Story().standing, facts, {
      at,
      eventIdAt: (index) => eventIdOf(commandId, index),
    });
    const [result] = await log.append([
      {
        commandId,
        digest: commandDigest('provision', commandId),
        stream: allocationStream(digestOf(stream)),
        expected: 'any',
        occurredAt: at,
        events: facts.map((fact) => ({ event: eventOfFact(fact), meta: { causedBy: null, saw: 0 } })),
        placement: placementRowOf(after.placement),
        ...(step === undefined ? {} : { lease: step }),
      },
    ]);
    if (result?.outcome !== 'appended') return { kind: 'fenced' };
    standings.set(stream, after);
    return { kind: 'recorded' };
  };
  const record = (stream: string, ...facts: readonly Fact[]) => append(stream, facts);
  const room = () =>
    new TerminalRoom({
      limits: { createsPerHour: null, billingMax: null, ...limits },
      log,
      monotonicMs: () => nowMs - T0_MS,
    });
  const sent = async (intent: string, stream: string, entry?: Entry) => {
    await record(stream, intentRecorded(intent, entry));
    await record(stream, createSending(intent, 0));
  };
  /** A worker that counts with its own room, and records if there is one. */
  const send = (by: TerminalRoom, intent: string, stream: string) =>
    by.record({ stream: allocationStream(digestOf(stream)), intent }, (step) =>
      append(stream, [createSending(intent, 0)], step),
    );
  return { log, record, sent, send, room, pass: (ms: number) => (nowMs += ms) };
}

const [A, B, C] = [intentId('a'), intentId('b'), intentId('c')];
const asks = (stream: string, intent: string | null = null) => ({
  stream: allocationStream(digestOf(stream)),
  intent,
});
const X = asks('x');
const Y = asks('y');

test('without limits there is always room', async () => {
  const { sent, room } = world({});
  await sent(A, 'a');
  expect(await room().hasRoom(X)).toBe(true);
});

test('so many terminal creates in an hour, and a fresh process counts the same', async () => {
  const { sent, room, pass } = world({ createsPerHour: 2 });
  const first = room();
  await sent(A, 'a');
  expect(await first.hasRoom(X)).toBe(true);
  pass(60_000);
  await sent(B, 'b');
  expect([await first.hasRoom(X), await room().hasRoom(X)]).toEqual([false, false]);
  pass(HOUR_MS - 60_001);
  expect([await first.hasRoom(X), await room().hasRoom(X)]).toEqual([false, false]);
  pass(1);
  expect([await first.hasRoom(X), await room().hasRoom(X)]).toEqual([true, true]);
});

test('an intent that was not sent yet takes no room, least of all from itself', async () => {
  const { record, room } = world({ createsPerHour: 1, billingMax: 1 });
  for (const letter of ['a', 'b', 'c']) await record(letter, intentRecorded(intentId(letter)));
  expect(await room().hasRoom(X)).toBe(true);
});

test('the next create of an intent that is open still has the room of the one before', async () => {
  const { sent, room } = world({ createsPerHour: 1, billingMax: 1 });
  await sent(A, 'a');
  expect(await room().hasRoom(asks('a', A))).toBe(true);
  expect(await room().hasRoom(X)).toBe(false);
});

test('of many that ask at once only so many pass, until it is known that they send nothing', async () => {
  const { room, pass } = world({ createsPerHour: 1 });
  const one = room();
  expect(await Promise.all([one.hasRoom(X), one.hasRoom(Y), one.hasRoom(X)])).toEqual([true, false, true]);
  pass(60_000);
  expect(await one.hasRoom(Y)).toBe(true);
});

test('creates of rungs are none of the terminal lane, also of one that was opened long ago', async () => {
  const { sent, record, room, pass } = world({ createsPerHour: 1, billingMax: 1 });
  const entry = { kind: 'rung' as const, rung: 'od_a', zone: null };
  await record('b', intentRecorded(B, entry));
  pass(HOUR_MS);
  await record('b', createSending(B, 0));
  await sent(A, 'a', entry);
  expect(await room().hasRoom(X)).toBe(true);
});

describe('several workers with a room of their own', () => {
  test.each([{ createsPerHour: 3 }, { billingMax: 3 }])(
    'record exactly so many creates: %o',
    async (limits) => {
      const { record, send, room } = world(limits);
      const workers = [room(), room(), room(), room()];
      const names = Array.from({ length: 24 }, (_, index) => ({
        stream: `s${index}`,
        intent: intentId(String.fromCharCode(97 + index)),
      }));
      for (const { stream, intent } of names) await record(stream, intentRecorded(intent));
      const results = await Promise.all(
        names.flatMap(({ stream, intent }, index) => {
          const worker = workers[index % workers.length];
          return worker === undefined ? [] : [send(worker, intent, stream)];
        }),
      );
      expect(results.filter(({ kind }) => kind === 'recorded')).toHaveLength(3);
      expect(results.filter(({ kind }) => kind === 'full')).toHaveLength(21);
    },
  );

  test('a count is worth nothing once another create was recorded behind it', async () => {
    const { log, record, send, room } = world({ createsPerHour: 1 });
    await record('a', intentRecorded(A));
    await record('b', intentRecorded(B));
    const [slow, quick] = [room(), room()];
    const result = await slow.record(asks('a', A), async (step) => {
      // Between its count and its append this worker stood still, and the other one did not.
      expect(await send(quick, B, 'b')).toEqual({ kind: 'recorded' });
      const head = await log.head();
      const mine = await log.append([
        {
          commandId: 'slow',
          digest: commandDigest('provision', 'slow'),
          stream: asks('a').stream,
          expected: 'any',
          occurredAt: new Date(T0_MS).toISOString(),
          events: [{ event: eventOfFact(createSending(A, 0)), meta: { causedBy: null, saw: 0 } }],
          ...(step === undefined ? {} : { lease: step }),
        },
      ]);
      expect([mine[0]?.outcome, await log.head()]).toEqual(['fenced', head]);
      return { kind: 'fenced' as const };
    });
    expect(result).toEqual({ kind: 'full' });
  });

  test('one whose own lease is gone is told so, not asked to count for ever', async () => {
    const { room } = world({ createsPerHour: 1 });
    let tries = 0;
    const result = await room().record(asks('a', A), async () => {
      tries += 1;
      return { kind: 'fenced' as const };
    });
    expect([result, tries]).toEqual([{ kind: 'fenced' }, 1]);
  });

  test('while the store is away those who wait behind do not each wait for it again', async () => {
    const { record, send, room } = world({ createsPerHour: 1 });
    await record('a', intentRecorded(A));
    const one = room();
    const fails = one.record(X, () => Promise.reject(new LogUnavailable('the store is away')));
    const behind = send(one, A, 'a');
    await expect(fails).rejects.toThrow(LogUnavailable);
    await expect(behind).rejects.toThrow(LogUnavailable);
    expect(await send(one, A, 'a')).toEqual({ kind: 'recorded' });
  });

  test('one that fails takes nothing, and those behind it go on', async () => {
    const { record, send, room } = world({ createsPerHour: 1 });
    await record('a', intentRecorded(A));
    const one = room();
    const fails = one.record(X, () => Promise.reject(new Error('no such lane')));
    const next = send(one, A, 'a');
    await expect(fails).rejects.toThrow('no such lane');
    expect(await next).toEqual({ kind: 'recorded' });
  });
});

const blockedFor = (reason: 'terminal_workload_start_failed' | 'workload_failure'): Fact => ({
  type: 'AllocationBlocked',
  data: { reason, verdict: verdictOf('blocked', { reason }) },
});
const closed = (why: 'missed' | 'blocked' | 'voided' | 'replaced'): Fact => ({
  type: 'IntentClosed',
  data: { intent: A, why },
});
const completed: Fact = {
  type: 'FailoverCompleted',
  data: {
    intent: A,
    instance: 'P1',
    lane: 'runpod',
    key: 'X1',
    verdict: verdictOf('running_on_terminal'),
  },
};
const alert = (kind: 'two_workloads' | 'foreign_marker_conflict' | 'log_rewound', subject: string): Fact => ({
  type: 'AlertRaised',
  data: { alert: kind, subject, evidence: { lane: 'runpod' } },
});
const reap = { instance: 'P1', intent: A, chain: 'terminal:X1' };

describe('what may bill at once', () => {
  const open = withOpenIntent(A).facts;
  const made = [createSending(A, 0), instanceCreated(A)];
  test.each<{ what: string; facts: readonly Fact[]; bills: number }>([
    { what: 'an intent under which nothing was sent', facts: [], bills: 0 },
    { what: 'a create that is under way', facts: [createSending(A, 0)], bills: 1 },
    {
      what: 'a create that was refused',
      facts: [createSending(A, 0), createEnded(A, 1, 'rate_limited')],
      bills: 0,
    },
    {
      what: 'a create whose outcome nobody knows',
      facts: [createSending(A, 0), createEnded(A, 1, 'outcome_unknown')],
      bills: 1,
    },
    {
      what: 'the same, after a look found nothing',
      facts: [createSending(A, 0), createEnded(A, 1, 'outcome_unknown'), closed('replaced')],
      bills: 0,
    },
    {
      what: 'one that was given up without a look',
      facts: [createSending(A, 0), closed('voided')],
      bills: 1,
    },
    { what: 'a machine that is prepared', facts: made, bills: 1 },
    { what: 'the instance', facts: [...made, completed], bills: 1 },
    {
      what: 'a pod that was kept for a person',
      facts: [...made, closed('blocked'), blockedFor('terminal_workload_start_failed')],
      bills: 1,
    },
    {
      what: 'the same once it is gone',
      facts: [
        ...made,
        closed('blocked'),
        blockedFor('terminal_workload_start_failed'),
        {
          type: 'InstanceGone',
          data: { instance: 'P1', lane: 'runpod', listedAt: '2026-11-29T11:00:00.000Z' },
        },
      ],
      bills: 0,
    },
    {
      what: 'a pod whose workload failed',
      facts: [...made, completed, blockedFor('workload_failure')],
      bills: 1,
    },
    {
      what: 'a machine that is being ended',
      facts: [...made, { type: 'ReapAnnounced', data: { ...reap, lane: 'runpod', number: 1 } }],
      bills: 1,
    },
    {
      what: 'a machine that a restored log has forgotten',
      facts: [
        { type: 'LogRewound', data: { instance: 'P9', lane: 'runpod', intent: B } },
        alert('log_rewound', 'P9'),
      ],
      bills: 1,
    },
    { what: 'one that was ended', facts: [...made, { type: 'ResidueReaped', data: reap }], bills: 0 },
    {
      what: 'a second one that is only told of',
      facts: [...made, completed, alert('two_workloads', 'P2')],
      bills: 2,
    },
    {
      what: 'a machine that is not ours',
      facts: [...made, completed, alert('foreign_marker_conflict', 'F1')],
      bills: 1,
    },
    {
      what: 'the instance after it ended',
      facts: [...made, completed, ...judged()],
      bills: 0,
    },
  ])('$what: $bills', async ({ facts, bills }) => {
    for (const billingMax of bills === 0 ? [1] : [bills, bills + 1]) {
      const { record, room } = world({ billingMax });
      const early = room();
      await early.hasRoom(X);
      await record('a', ...open);
      for (const fact of facts) await record('a', fact);
      const hasRoom = billingMax > bills;
      // As a process sees it that was there all along, and one that begins now.
      expect([await early.hasRoom(X), await room().hasRoom(X)]).toEqual([hasRoom, hasRoom]);
    }
  });

  test('an attempt that was given up without a look counts for an hour', async () => {
    const { record, room, pass } = world({ billingMax: 1 });
    await record('a', ...open, createSending(A, 0), closed('voided'));
    expect(await room().hasRoom(X)).toBe(false);
    pass(HOUR_MS + 31_000);
    expect(await room().hasRoom(X)).toBe(true);
  });

  test('what a launch of before left behind counts, whatever lane the allocation is on now', async () => {
    const { record, room } = world({ billingMax: 1 });
    await record('a', ...open, ...made, closed('blocked'), blockedFor('terminal_workload_start_failed'));
    await record('a', ...new Story().launch().placed(0).facts);
    expect([await room().hasRoom(X), await room().hasRoom(asks('a', C))]).toEqual([false, false]);
  });
});

/** The pod is seen to have ended. */
function judged(): readonly Fact[] {
  const story = new Story();
  story.launch().placed(0);
  story.see({ ...gone(60), provider: 'queued' }, gone(300));
  story.add(300, intentRecorded(A), createSending(A, 300), instanceCreated(A), completed);
  const before = story.facts.length;
  story.see(gone(400, { instance: 'P1', lane: 'runpod' }));
  return story.facts.slice(before);
}
