import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { PromptView } from '#domain/audit/views';
import type { RecordedQuestion } from '#domain/prompt/recorded-question';
import type { RecordedEvent } from '#events/envelope';
import { authenticationOff, type Caller } from '#platform/auth';
import { OPEN_PROMPT } from '#platform/openapi/page-examples';
import { goldenEvent } from '#support/golden';
import { PromptFeed } from './prompt-feed.ts';

const ASKED = goldenEvent('FallbackPrompted');
const QUESTION: RecordedQuestion = {
  asked: ASKED,
  id: ASKED.row.eventId,
  expiresAt: ASKED.data.expiresAt,
  end: null,
  before: [],
  placement: null,
};

let caller: Caller;
let tell: (row: RecordedEvent) => void;
let reads: number;
let view: () => Promise<PromptView>;
const failures: unknown[] = [];
let feed: PromptFeed;

beforeEach(async () => {
  vi.useFakeTimers();
  const local = await authenticationOff.authenticate({});
  if (local.outcome === 'refused') throw new Error('nobody is refused');
  caller = local;
  reads = 0;
  failures.length = 0;
  view = async () => OPEN_PROMPT;
  feed = new PromptFeed({
    tail: {
      subscribe: (onEvent) => {
        tell = onEvent;
        return () => undefined;
      },
    },
    log: { newestDecisions: async () => [] },
    reader: {
      byId: async () => {
        reads += 1;
        return QUESTION;
      },
    },
    views: { of: () => view() },
    onFailure: (error) => failures.push(error),
    onCount: () => undefined,
  });
});
afterEach(() => {
  feed.stop();
  vi.useRealTimers();
});

/** A page that takes what it is sent, or lets it lie. */
function page(lies = 0) {
  const written: string[] = [];
  const state = { ended: '' };
  const gone = feed.connect(caller, {
    write: (text) => void written.push(text),
    buffered: () => lies,
    end: (now) => {
      state.ended = now ? 'cut' : 'ended';
    },
  });
  const types = () => written.join('').match(/(?<=^event: )\w+/gm) ?? [];
  return { types, gone, written, ended: () => state.ended };
}

const asked = (pos = 1) => tell(goldenEvent('FallbackPrompted', {}, { pos }).row);
const settled = () => vi.advanceTimersByTimeAsync(0);

test('a question is told to every page, read once', async () => {
  const pages = [page(), page()];
  asked(42);
  await settled();
  for (const { written, types } of pages) {
    expect(types()).toEqual(['ping', 'prompt']);
    expect(written.at(-1)).toBe(`id: 42\nevent: prompt\ndata: ${JSON.stringify(OPEN_PROMPT)}\n\n`);
  }
  expect(reads).toBe(1);
});

test('nothing is read while nobody listens, nor for what changes no question', async () => {
  asked();
  const { gone, types } = page();
  tell(goldenEvent('AttemptTracked').row);
  tell(goldenEvent('ObservationJudged').row);
  await settled();
  gone?.();
  asked();
  await settled();
  expect([reads, types()]).toEqual([0, ['ping']]);
});

test('a page hears a ping every 15 s', async () => {
  const { types } = page();
  await vi.advanceTimersByTimeAsync(14_999);
  expect(types()).toEqual(['ping']);
  await vi.advanceTimersByTimeAsync(1);
  expect(types()).toEqual(['ping', 'ping']);
});

test('a page that takes nothing is cut beyond 256 KiB, and no other one', async () => {
  const [quick, slow] = [page(256 * 1024), page(256 * 1024 + 1)];
  asked();
  await settled();
  expect([quick.ended(), slow.ended()]).toEqual(['', 'cut']);
  expect(quick.types()).toEqual(['ping', 'prompt']);
  expect(slow.types()).toEqual(['ping']);
});

test('200 pages are taken, and one more once one has gone', () => {
  const pages = Array.from({ length: 200 }, () => page());
  expect(page().gone).toBeNull();
  pages[0]?.gone?.();
  expect(page().gone).not.toBeNull();
  expect(page().gone).toBeNull();
});

test('what cannot be read ends every page, so that none goes on without knowing', async () => {
  const before = page();
  view = () => Promise.reject(new Error('the log is away'));
  asked();
  await settled();
  expect([before.ended(), failures.length]).toEqual(['ended', 1]);
  view = async () => OPEN_PROMPT;
  const after = page();
  asked();
  await settled();
  expect([after.ended(), after.types()]).toEqual(['', ['ping', 'prompt']]);
});

test('more changes than can be told end every page instead of filling the memory', async () => {
  const { ended } = page();
  for (let change = 0; change < 256; change += 1) asked();
  expect(ended()).toBe('');
  asked();
  expect(ended()).toBe('ended');
  await settled();
});

test('a stop ends every page', () => {
  const pages = [page(), page()];
  feed.stop();
  expect(pages.map(({ ended }) => ended())).toEqual(['ended', 'ended']);
});
