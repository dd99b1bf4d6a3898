import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Command } from '#domain/log';
import { NOTICE_TYPES, type Notice, type NoticeType, noticesOf } from '#domain/prompt/notice';
import type { NoticeReceiver, NoticeStep, NoticeTable } from '#domain/prompt/notice-table';
import { InMemoryLog } from '#event-log/in-memory-log';
import { CATALOGUE } from '#events/catalogue';
import { allocationStream } from '#events/streams';
import { readEvent } from '#events/upcast';
import { Secret } from '#platform/secret';
import type { WholeDecision } from '#support/allocation-events';
import { accepted, prompted } from '#support/allocation-events';
import { digestOf, HOUR_S, T0 } from '#support/builders';
import { command, decision } from '#support/log-builders';
import { type Chapter, play, stepsWithFailover, rules as storyRules } from '#support/random-story';
import { seeded } from '#support/seeded';
import { NoticeFeed } from './notice-feed.ts';

const RULES = { publicUrl: 'https://spillway.test', beforeExpiryS: HOUR_S };

const receiver = (name: string, events: readonly NoticeType[] = NOTICE_TYPES) => ({
  name,
  url: new Secret('https://pager.test'),
  events,
  keys: new Secret([]),
});

/** The table's part that a feed writes, with its one promise: only who stands at `from` adds. */
class FakeTable implements Pick<NoticeTable, 'receivers' | 'add'> {
  readonly steps: NoticeStep[] = [];
  readonly #standing = new Map<string, NoticeReceiver>();

  constructor(names: readonly string[], state: NoticeReceiver['state'] = 'active') {
    for (const name of names) this.#standing.set(name, { name, state, pos: 0, since: T0 });
  }

  async receivers(): Promise<readonly NoticeReceiver[]> {
    return [...this.#standing.values()];
  }

  async add(step: NoticeStep): Promise<boolean> {
    const standing = this.#standing.get(step.receiver);
    if (standing === undefined || standing.pos !== step.from) return false;
    this.#standing.set(step.receiver, { ...standing, pos: step.to });
    this.steps.push(step);
    return true;
  }

  of(name: string): readonly Notice[] {
    return this.steps.filter((step) => step.receiver === name).flatMap(({ notices }) => notices);
  }
}

const feedOf = (log: InMemoryLog, table: FakeTable, receivers = [receiver('pager')]) => {
  const unreadable: number[] = [];
  const feed = new NoticeFeed({
    log,
    table,
    receivers,
    rules: RULES,
    giveUpMs: 1,
    onUnreadable: (pos) => unreadable.push(pos),
  });
  return { feed, unreadable };
};

const commandOf = ({ type, data }: WholeDecision, stream: string, name: string): Command =>
  command({
    commandId: name,
    stream,
    events: [
      { event: { type, version: 1, role: CATALOGUE[type].role, data }, meta: { causedBy: null, saw: 0 } },
    ],
  });

async function appendStory(log: InMemoryLog, chapters: readonly Chapter[], stream: string, from = 0) {
  for (const [index, chapter] of chapters.entries()) {
    await log.append([commandOf(chapter.decision, stream, `${stream} ${from + index}`)]);
  }
}

const emptyLog = () => new InMemoryLog({ logId: 'in-memory', now: () => Date.parse(T0) });
const STREAM = allocationStream(digestOf('a'));

describe('the feed', () => {
  test('tells each receiver what it wants, from where it stands, and nothing twice', async () => {
    const log = emptyLog();
    const table = new FakeTable(['pager', 'closing']);
    const receivers = [receiver('pager'), receiver('closing', ['question.closed'])];
    const { feed } = feedOf(log, table, receivers);
    await log.append([command(), commandOf(prompted(3), STREAM, 'asked')]);
    expect(await feed.catchUp()).toBe(true);
    expect(await feed.catchUp()).toBe(false);
    await log.append([commandOf(accepted(), STREAM, 'answered')]);
    await feed.catchUp();
    const types = (name: string) => table.of(name).map(({ type }) => type);
    expect(types('pager')).toEqual(['question.opened', 'question.expiring', 'question.closed']);
    expect(types('closing')).toEqual(['question.closed']);
    // That a question has ended is known also to who is told of its expiry only.
    expect(
      table.steps
        .filter(({ ended }) => ended.length > 0)
        .map((step) => step.receiver)
        .sort(),
    ).toEqual(['closing', 'pager']);
  });

  test.each(['gone', 'removed'] as const)('leaves a receiver that is %s where it stands', async (state) => {
    const log = emptyLog();
    const table = new FakeTable(['pager'], state);
    await log.append([commandOf(prompted(3), STREAM, 'asked')]);
    expect(await feedOf(log, table).feed.catchUp()).toBe(false);
    expect(table.steps).toEqual([]);
  });

  test('stops before what a newer version wrote, and passes over a damaged body', async () => {
    const log = emptyLog();
    const table = new FakeTable(['pager']);
    const { feed, unreadable } = feedOf(log, table);
    await log.append([command({ stream: STREAM, events: [decision('AlertRaised')] })]);
    await feed.catchUp();
    expect([unreadable, table.steps.map(({ to }) => to)]).toEqual([[1], [1]]);
    const newer = { type: 'AlertRaised', version: 99, role: 'decision' as const, data: {} };
    await log.append([
      command({ stream: STREAM, events: [{ event: newer, meta: { causedBy: null, saw: 0 } }] }),
    ]);
    await expect(feed.catchUp()).rejects.toThrow(/newer_version/);
    expect(table.steps).toHaveLength(1);
  });

  test('makes of every history what its rule says, wherever it was stopped and by however many it is fed', async () => {
    await fc.assert(
      fc.asyncProperty(stepsWithFailover, storyRules, fc.nat({ max: 80 }), async (story, rules, cut) => {
        const log = emptyLog();
        const table = new FakeTable(['pager']);
        const chapters = play(story, rules);
        await appendStory(log, chapters.slice(0, cut), STREAM);
        await feedOf(log, table).feed.catchUp();
        await appendStory(log, chapters.slice(cut), STREAM, cut);
        const twins = [feedOf(log, table), feedOf(log, table)];
        await Promise.all(twins.map(({ feed }) => feed.catchUp()));
        await feedOf(log, table).feed.catchUp();

        const rows = await log.readAfter(0, 1_000);
        let before = null as Chapter['before']['scalars']['openQuestion'];
        const told: Notice[] = [];
        for (const row of rows) {
          const event = readEvent(row);
          told.push(...noticesOf(event, before, RULES).notices);
          if ('after' in event.data) before = event.data.after.openQuestion;
        }
        const lasting = ({ type }: Notice) => type !== 'question.expiring';
        expect(table.of('pager').filter(lasting)).toEqual(told.filter(lasting));
        // An end that was known at once leaves the warning out; it is never made up.
        const warnings = new Set(told.map(({ id }) => id));
        expect(table.of('pager').every(({ id }) => warnings.has(id))).toBe(true);
      }),
      seeded(60),
    );
  });
});
