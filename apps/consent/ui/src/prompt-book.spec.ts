import { describe, expect, test } from 'vitest';
import type { PromptView } from '#domain/audit/views';
import { closedIn, EMPTY_BOOK, expiredIn, isOpen, noted, openIn, reread } from './prompt-book.ts';

const NOW = Date.parse('2026-01-02T00:00:00.000Z');

function asked(originId: string, some: Partial<PromptView> = {}): PromptView {
  return {
    id: originId,
    originId,
    ref: 'r',
    kind: 'pool',
    state: 'open',
    askedAt: '2026-01-01T12:00:00.000Z',
    expiresAt: '2026-01-02T12:00:00.000Z',
    closed: null,
    asks: '',
    differs: { what: 'pool', from: 'on-demand', to: 'preemptible' },
    why: { rule: '', sentence: '', lines: [] },
    attempts: [],
    onYes: [],
    onNo: [],
    buys: '',
    costPerHourUsd: null,
    ...some,
  };
}

const ended = (originId: string, at = '2026-01-01T18:00:00.000Z') =>
  asked(originId, { state: 'closed', closed: { at, how: 'accepted', by: 'local', why: null } });
const bookOf = (...prompts: readonly PromptView[]) => prompts.reduce(noted, EMPTY_BOOK);
const ids = (prompts: readonly PromptView[]) => prompts.map(({ id }) => id);

describe('what is heard of a question', () => {
  test('a renewal takes the place of the question that it renews', () => {
    const renewed = asked('a', { id: 'a2', expiresAt: '2026-01-03T12:00:00.000Z' });
    expect(ids(openIn(bookOf(asked('a'), renewed), NOW))).toEqual(['a2']);
    expect(ids(openIn(bookOf(renewed, asked('a')), NOW))).toEqual(['a2']);
  });

  test('a list that is older than the event never opens a closed question again', () => {
    const book = bookOf(ended('a'), asked('a'));
    expect(ids(openIn(book, NOW))).toEqual([]);
    expect(ids(closedIn(book))).toEqual(['a']);
  });
});

describe('a question is open until its life time ends', () => {
  const end = Date.parse('2026-01-02T12:00:00.000Z');
  test.each([
    { reason: 'a moment before', now: end - 1, open: true },
    { reason: 'at the end', now: end, open: false },
  ])('$reason', ({ now, open }) => {
    expect(isOpen(asked('a'), now)).toBe(open);
    expect(ids(expiredIn(bookOf(asked('a')), now))).toEqual(open ? [] : ['a']);
  });

  test('one that the server calls expired is, whatever the clock of this machine says', () => {
    expect(isOpen(asked('a', { state: 'expired' }), NOW)).toBe(false);
  });

  test('a closed one is neither open nor expired', () => {
    const book = bookOf(ended('a'));
    expect([openIn(book, NOW), expiredIn(book, end + 1)]).toEqual([[], []]);
  });
});

test('the newest question is first, and so is the one that ended last', () => {
  const book = bookOf(
    asked('old', { askedAt: '2026-01-01T10:00:00.000Z' }),
    asked('new', { askedAt: '2026-01-01T11:00:00.000Z' }),
    ended('first', '2026-01-01T09:00:00.000Z'),
    ended('last', '2026-01-01T10:00:00.000Z'),
  );
  expect(ids(openIn(book, NOW))).toEqual(['new', 'old']);
  expect(ids(closedIn(book))).toEqual(['last', 'first']);
});

describe('reading the lists anew', () => {
  test('forgets what was open and is in neither list', () => {
    expect(ids(openIn(reread(bookOf(asked('gone')), [asked('b')], new Set()), NOW))).toEqual(['b']);
  });

  test('keeps what the stream told while the lists were on their way', () => {
    expect(ids(openIn(reread(bookOf(asked('just')), [], new Set(['just'])), NOW))).toEqual(['just']);
  });

  test('keeps the history that was loaded', () => {
    expect(ids(closedIn(reread(bookOf(ended('old')), [], new Set())))).toEqual(['old']);
  });

  test('closes what was answered meanwhile', () => {
    const book = reread(bookOf(asked('a')), [ended('a')], new Set());
    expect([ids(openIn(book, NOW)), ids(closedIn(book))]).toEqual([[], ['a']]);
  });
});
