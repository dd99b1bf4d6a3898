import { expect, test } from 'vitest';
import { WAIT_REASONS } from '#domain/provision/step';
import { at } from '#support/builders';
import { Waiting } from './waiting.ts';

const counted = (waiting: Waiting) =>
  waiting.counts().flatMap(({ reason, count }) => (count > 0 ? [`${reason} ${count}`] : []));

test('tells every reason, also those that nobody waits for', () => {
  expect(new Waiting().counts()).toEqual(WAIT_REASONS.map((reason) => ({ reason, count: 0 })));
});

test('knows the newest run of each allocation', () => {
  const waiting = new Waiting();
  waiting.learn('a', { why: 'listing_failed', until: null });
  waiting.learn('a', { why: 'pause', until: at(60) });
  waiting.learn('b', { why: 'pause', until: null });
  expect(counted(waiting)).toEqual(['pause 2']);
  waiting.learn('a', null);
  expect(counted(waiting)).toEqual(['pause 1']);
});

test.each([
  { walked: ['a'], until: null, nowS: 100, kept: true, reason: 'the pass walks it' },
  { walked: [], until: null, nowS: 100, kept: false, reason: 'nothing is left to do for it' },
  { walked: [], until: at(100), nowS: 99, kept: true, reason: 'it sleeps until then' },
  { walked: [], until: at(100), nowS: 100, kept: false, reason: 'it is not walked though it is time' },
])('is kept over a pass: $kept, since $reason', ({ walked, until, nowS, kept }) => {
  const waiting = new Waiting();
  waiting.learn('a', { why: 'pause', until });
  waiting.keep(new Set(walked), at(nowS));
  expect(counted(waiting)).toEqual(kept ? ['pause 1'] : []);
});
