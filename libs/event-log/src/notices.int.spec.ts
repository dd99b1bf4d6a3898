import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Notice } from '#domain/prompt/notice';
import type { ClaimedNotice, FailedTry, NoticeTable } from '#domain/prompt/notice-table';
import { T0 } from '#support/builders';
import { withPostgres } from '#support/infra';
import { command, fresh } from '#support/log-builders';
import { openLog } from '#support/open-log';
import type { PostgresLog } from './postgres-log.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CLAIM_MS = 60_000;
const NOW: FailedTry = {
  outcome: 'refused',
  status: 500,
  pauseMs: 0,
  receiverPauseMs: 0,
  isGone: false,
};
const LATER: FailedTry = { ...NOW, pauseMs: HOUR_MS };

const database = withPostgres();
let log: PostgresLog;
let table: NoticeTable;
beforeAll(async () => {
  log = await openLog(database.url);
  table = log.notices;
});
afterAll(() => log?.close());

const notice = (id: string, change: Partial<Notice> = {}): Notice => ({
  id,
  type: 'question.opened',
  stream: 'allocation-a',
  pos: 1,
  seq: 0,
  question: 'question',
  notBefore: T0,
  body: `{"id":"${id}"}`,
  ...change,
});
/** Far enough ahead for every run of this file. */
const AHEAD = '2999-01-01T00:00:00.000Z';

/** A receiver of its own with these notices, each stream in the order given. */
async function receiverWith(notices: readonly Notice[], giveUpMs = DAY_MS): Promise<string> {
  const name = fresh('r');
  const known = (await table.receivers()).filter(({ state }) => state !== 'removed');
  await table.syncReceivers([...known.map((each) => each.name), name]);
  await add(name, notices, { giveUpMs });
  return name;
}

async function add(
  receiver: string,
  notices: readonly Notice[],
  change: { readonly ended?: readonly string[]; readonly giveUpMs?: number } = {},
): Promise<boolean> {
  const from = (await standingOf(receiver)).pos;
  return table.add({ receiver, from, to: from + 1, notices, ended: [], giveUpMs: DAY_MS, ...change });
}

async function standingOf(receiver: string) {
  const found = (await table.standing()).find(({ name }) => name === receiver);
  if (found === undefined) throw new Error(`no receiver ${receiver}`);
  return found;
}

const stateOf = async (receiver: string, id: string) => (await table.find(receiver, id))?.state;
const idsOf = (claimed: readonly ClaimedNotice[]) => claimed.map(({ id }) => id).sort();
const claim = (receiver: string, limit = 10) => table.claim(receiver, limit, CLAIM_MS);
async function claimOne(receiver: string): Promise<ClaimedNotice> {
  const [first, ...more] = await claim(receiver);
  if (first === undefined || more.length > 0) throw new Error('exactly one notice is due');
  return first;
}

describe('a receiver', () => {
  test('begins at the head of the log, and keeps its place from then on', async () => {
    await log.append([command()]);
    const { pos } = await log.head();
    const name = await receiverWith([]);
    expect(await standingOf(name)).toMatchObject({ state: 'active', pos: pos + 1 });
    await receiverWith([]);
    expect(await standingOf(name)).toMatchObject({ state: 'active', pos: pos + 1 });
  });

  test('that stands beyond the end of a restored log is told again of what is recorded', async () => {
    await log.append([command()]);
    const { pos } = await log.head();
    const [ahead, behind] = [await receiverWith([]), await receiverWith([])];
    const from = (await standingOf(ahead)).pos;
    await table.add({ receiver: ahead, from, to: pos + 1_000, notices: [], ended: [], giveUpMs: DAY_MS });
    await table.add({ receiver: behind, from, to: pos, notices: [], ended: [], giveUpMs: DAY_MS });
    await table.backToHead();
    expect((await standingOf(ahead)).pos).toBe(pos);
    expect((await standingOf(behind)).pos).toBe(pos);
  });

  test('that is configured no more is sent nothing, and goes on where it stood when it comes back', async () => {
    const name = await receiverWith([notice('a')]);
    const others = (await table.receivers()).map((each) => each.name).filter((other) => other !== name);
    const { pos } = await standingOf(name);
    await table.syncReceivers(others);
    expect(await standingOf(name)).toMatchObject({ state: 'removed', pos });
    expect(await claim(name)).toEqual([]);
    await table.syncReceivers([...others, name]);
    expect(await standingOf(name)).toMatchObject({ state: 'active', pos });
    expect(idsOf(await claim(name))).toEqual(['a']);
  });

  test('moves and gets its notices together, once: whoever was second changes nothing', async () => {
    const name = await receiverWith([]);
    const { pos } = await standingOf(name);
    const step = { receiver: name, from: pos, to: pos + 7, ended: [], giveUpMs: DAY_MS };
    const results = await Promise.all(
      ['first', 'second', 'third'].map((id) => table.add({ ...step, notices: [notice(id)] })),
    );
    expect(results.filter(Boolean)).toHaveLength(1);
    expect((await standingOf(name)).pos).toBe(pos + 7);
    expect(await standingOf(name)).toMatchObject({ waiting: 1, failing: 0 });
  });

  test('gets a notice that it has already no second time', async () => {
    const name = await receiverWith([notice('a')]);
    await table.delivered(await claimOne(name), 204);
    expect(await add(name, [notice('a')])).toBe(true);
    expect(await claim(name)).toEqual([]);
    expect(await stateOf(name, 'a')).toBe('delivered');
  });
});

describe('a claim', () => {
  test('takes the first of each allocation, and the next one only when that is settled', async () => {
    const name = await receiverWith([
      notice('a2', { pos: 2 }),
      notice('a1', { pos: 1, seq: 1 }),
      notice('a0', { pos: 1 }),
      notice('b1', { stream: 'allocation-b', pos: 3 }),
    ]);
    const claimed = await claim(name);
    expect(idsOf(claimed)).toEqual(['a0', 'b1']);
    expect(await claim(name)).toEqual([]);
    for (const each of claimed) if (each.id === 'a0') await table.delivered(each, 200);
    expect(idsOf(await claim(name))).toEqual(['a1']);
  });

  test('carries what is sent, and its try', async () => {
    const name = await receiverWith([notice('a', { type: 'alert.raised', question: null })]);
    expect(await claim(name)).toEqual([
      { receiver: name, id: 'a', type: 'alert.raised', body: '{"id":"a"}', tries: 1 },
    ]);
  });

  test('that has run out is taken by the next one, and the first can no longer settle it', async () => {
    const name = await receiverWith([notice('a')]);
    const [lapsed] = await table.claim(name, 1, 0);
    const [second] = await claim(name);
    if (lapsed === undefined || second === undefined) throw new Error('both are claimed');
    expect([lapsed.tries, second.tries]).toEqual([1, 2]);
    await table.delivered(lapsed, 200);
    await table.failed(lapsed, NOW);
    await table.release(lapsed);
    expect([await stateOf(name, 'a'), await claim(name)]).toEqual(['waiting', []]);
    await table.delivered(second, 200);
    expect(await stateOf(name, 'a')).toBe('delivered');
  });

  test('that is given back is due at once', async () => {
    const name = await receiverWith([notice('a')]);
    await table.release(await claimOne(name));
    expect(await claimOne(name)).toMatchObject({ id: 'a', tries: 2 });
  });

  test('is no larger than asked for, the longest due first', async () => {
    const later = '2026-11-29T11:00:00.000Z';
    const name = await receiverWith([
      notice('late', { stream: 'allocation-b', notBefore: later }),
      notice('early'),
    ]);
    expect(idsOf(await claim(name, 1))).toEqual(['early']);
  });

  test('by many at once gives each notice to one, and an allocation in its order', async () => {
    const streams = Array.from({ length: 6 }, (_, index) => `allocation-${index}`);
    const all = streams.flatMap((stream) =>
      Array.from({ length: 8 }, (_, pos) => notice(`${stream}/${pos}`, { stream, pos })),
    );
    const name = await receiverWith(all);
    const sent: string[] = [];
    const worker = async () => {
      while (sent.length < all.length) {
        for (const each of await claim(name, 3)) {
          sent.push(each.id);
          await table.delivered(each, 200);
        }
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    expect([...sent].sort()).toEqual(all.map(({ id }) => id).sort());
    for (const stream of streams) {
      const ofStream = sent.filter((id) => id.startsWith(`${stream}/`));
      expect(ofStream).toEqual(all.filter((each) => each.stream === stream).map(({ id }) => id));
    }
  });
});

describe('a try that failed', () => {
  test('keeps its allocation waiting for its pause, and no other', async () => {
    const name = await receiverWith([
      notice('a1', { pos: 1 }),
      notice('a2', { pos: 2 }),
      notice('b1', { stream: 'allocation-b' }),
    ]);
    for (const each of await claim(name)) await table.failed(each, each.id === 'a1' ? LATER : NOW);
    expect(idsOf(await claim(name))).toEqual(['b1']);
    expect(await table.find(name, 'a1')).toMatchObject({
      state: 'waiting',
      tries: 1,
      lastOutcome: 'refused',
      lastStatus: 500,
    });
    expect(await standingOf(name)).toMatchObject({ waiting: 1, failing: 2 });
  });

  test('is due again when its pause is over', async () => {
    const name = await receiverWith([notice('a')]);
    await table.failed(await claimOne(name), { ...NOW, outcome: 'timeout', status: null });
    expect(await claimOne(name)).toMatchObject({ id: 'a', tries: 2 });
  });

  test('beyond the time for which it is tried is given up, visibly, and what follows it goes on', async () => {
    const name = await receiverWith([notice('a1', { pos: 1 }), notice('a2', { pos: 2 })], HOUR_MS / 2);
    await table.failed(await claimOne(name), LATER);
    expect(await stateOf(name, 'a1')).toBe('failed');
    expect(
      (await table.list({ failedOnly: true }, 100)).filter((row) => row.receiver === name),
    ).toMatchObject([{ id: 'a1', state: 'failed' }]);
    await table.delivered(await claimOne(name), 200);
    expect(await standingOf(name)).toMatchObject({ waiting: 0, failing: 1, oldestS: 0 });

    expect(await table.retry(name, { givenUp: false, giveUpMs: DAY_MS })).toBe(0);
    expect(await table.retry(name, { givenUp: true, giveUpMs: 2 * DAY_MS })).toBe(1);
    await table.failed(await claimOne(name), LATER);
    expect(await stateOf(name, 'a1')).toBe('waiting');
  });

  test('is due at once when an operator says so', async () => {
    const name = await receiverWith([
      notice('a'),
      notice('ahead', { stream: 'allocation-b', notBefore: AHEAD }),
    ]);
    await table.failed(await claimOne(name), LATER);
    expect(await claim(name)).toEqual([]);
    expect(await table.retry(name, { givenUp: false, giveUpMs: DAY_MS })).toBe(1);
    expect(await claimOne(name)).toMatchObject({ id: 'a' });
    expect(await table.retry(fresh('unknown'), { givenUp: true, giveUpMs: DAY_MS })).toBeNull();
  });

  test('because the receiver is gone ends all sending to it, but a test, until an operator says so', async () => {
    const name = await receiverWith([notice('a'), notice('b', { stream: 'allocation-b' })]);
    const [first, second] = await claim(name);
    if (first === undefined || second === undefined) throw new Error('both are due');
    await table.failed(first, { ...NOW, status: 410, isGone: true });
    await table.failed(second, NOW);
    expect(await standingOf(name)).toMatchObject({ state: 'gone', waiting: 0, failing: 2 });
    expect(await claim(name)).toEqual([]);

    const id = fresh('test');
    await table.addTest({ receiver: name, id, body: '{}' });
    await table.failed(await claimOne(name), NOW);
    expect(await table.find(name, id)).toMatchObject({ state: 'failed', lastStatus: 500 });
    expect(await table.retry(name, { givenUp: false, giveUpMs: DAY_MS })).toBe(2);
    expect(idsOf(await claim(name))).toEqual(['a', 'b']);
  });

  test('with a pause that the receiver asked for holds all of its notices, and no other receiver', async () => {
    const other = await receiverWith([notice('a')]);
    const name = await receiverWith([notice('a'), notice('b', { stream: 'allocation-b' })]);
    const [first] = await claim(name, 1);
    if (first === undefined) throw new Error('one is due');
    await table.failed(first, { ...NOW, status: 429, receiverPauseMs: DAY_MS });
    expect(await claim(name)).toEqual([]);
    expect(idsOf(await claim(other))).toEqual(['a']);
  });
});

describe('a question that is about to expire', () => {
  const asked = [
    notice('opened', { pos: 1, seq: 1 }),
    notice('expiring', { pos: 1, seq: 2, type: 'question.expiring', notBefore: AHEAD }),
  ];
  const due = notice('expiring', { pos: 1, seq: 2, type: 'question.expiring' });
  const closed = notice('closed', { pos: 5, type: 'question.closed' });

  test('holds up nothing before it is time, and is not told when the question has ended by then', async () => {
    const name = await receiverWith(asked);
    await table.delivered(await claimOne(name), 200);
    expect(await claim(name)).toEqual([]);
    expect(await standingOf(name)).toMatchObject({ waiting: 0, failing: 0, oldestS: 0 });
    await add(name, [closed], { ended: ['question'] });
    expect(await stateOf(name, 'expiring')).toBe('skipped');
    expect(await claimOne(name)).toMatchObject({ id: 'closed' });
  });

  test('is still told when another question of the allocation ended', async () => {
    const name = await receiverWith([due]);
    await add(name, [closed], { ended: ['other question'] });
    expect(await claimOne(name)).toMatchObject({ id: 'expiring' });
  });

  test.each([
    { how: 'taken', settle: (each: ClaimedNotice) => table.delivered(each, 200), state: 'delivered' },
    { how: 'refused', settle: (each: ClaimedNotice) => table.failed(each, NOW), state: 'skipped' },
    { how: 'given back', settle: (each: ClaimedNotice) => table.release(each), state: 'skipped' },
  ])('and is being sent when the question ends: its end is told after that was $how', async (ending) => {
    const name = await receiverWith([due]);
    const sending = await claimOne(name);
    await add(name, [closed], { ended: ['question'] });
    expect(await claim(name)).toEqual([]);
    await ending.settle(sending);
    expect(await stateOf(name, 'expiring')).toBe(ending.state);
    expect(await claimOne(name)).toMatchObject({ id: 'closed' });
  });
});

describe('what is kept and who may change it', () => {
  test('settled notices are dropped when they are old, those that wait never', async () => {
    const name = await receiverWith([notice('a1', { pos: 1 }), notice('a2', { pos: 2 })]);
    await table.delivered(await claimOne(name), 200);
    await table.dropSettled({ delivered: DAY_MS, failed: DAY_MS }, 1_000);
    expect(await stateOf(name, 'a1')).toBe('delivered');
    await table.dropSettled({ delivered: -DAY_MS, failed: DAY_MS }, 1_000);
    expect([await stateOf(name, 'a1'), await stateOf(name, 'a2')]).toEqual([undefined, 'waiting']);
  });

  test('counts are none without a receiver, and those of all receivers otherwise', async () => {
    await table.syncReceivers([]);
    expect(await table.counts()).toBeNull();
    const [first, second] = [await receiverWith([notice('a')]), await receiverWith([notice('a')])];
    expect(await table.counts()).toEqual({ waiting: 2, failing: 0 });
    await table.failed(await claimOne(first), LATER);
    await table.delivered(await claimOne(second), 200);
    expect(await table.counts()).toEqual({ waiting: 0, failing: 1 });
  });

  test('auditors read, operators test and retry, and neither sends', async () => {
    const name = await receiverWith([notice('a')]);
    const audit = await openLog(database.url, { role: 'spillway_audit' });
    const admin = await openLog(database.url, { role: 'spillway_admin' });
    try {
      expect(await audit.notices.counts()).toMatchObject({ waiting: expect.any(Number) });
      await expect(audit.notices.retry(name, { givenUp: true, giveUpMs: 1 })).rejects.toThrow();
      await expect(audit.notices.claim(name, 1, 1)).rejects.toThrow();
      expect(await admin.notices.retry(name, { givenUp: false, giveUpMs: DAY_MS })).toBe(1);
      await admin.notices.addTest({ receiver: name, id: fresh('test'), body: '{}' });
      await expect(admin.notices.syncReceivers([])).rejects.toThrow();
    } finally {
      await audit.close();
      await admin.close();
    }
  });
});
