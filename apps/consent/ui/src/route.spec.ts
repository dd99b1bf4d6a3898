import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allocationPath, overviewPath, questionPath, routeOf } from './route.ts';

describe('an address means a view', () => {
  test.each([
    ['/', '', { view: 'questions' }],
    ['/prompts', '', { view: 'questions' }],
    ['/prompts/a%2Fb', '', { view: 'question', id: 'a/b' }],
    ['/prompts/%', '', { view: 'question', id: '%' }],
    ['/history', '', { view: 'history' }],
    ['/history/x', '', { view: 'unknown' }],
    ['/overview', '?status=tracking', { view: 'overview', filters: new Map([['status', 'tracking']]) }],
    ['/allocations', '', { view: 'unknown' }],
    ['/allocations/r', '', { view: 'allocation', ref: 'r', asOf: { kind: 'now' } }],
    ['/allocations/r', '?at=12', { view: 'allocation', ref: 'r', asOf: { kind: 'pos', pos: 12 } }],
    [
      '/allocations/r',
      '?at=2026-11-29T00:00:00.000Z',
      { view: 'allocation', ref: 'r', asOf: { kind: 'time', ms: Date.parse('2026-11-29T00:00:00.000Z') } },
    ],
    ['/allocations/r', '?at=never', { view: 'allocation', ref: 'r', asOf: { kind: 'now' } }],
    ['/allocations/r/more', '', { view: 'unknown' }],
    ['/elsewhere', '', { view: 'unknown' }],
  ])('%s%s', (path, search, route) => {
    expect(routeOf(path, search)).toEqual(route);
  });
});

test('every link leads back to what it was made of', () => {
  const text = fc.string({ minLength: 1 }).filter((id) => id !== '.' && id !== '..');
  const asOf = fc.oneof(
    fc.record({ kind: fc.constant('now' as const) }),
    fc.record({ kind: fc.constant('pos' as const), pos: fc.nat() }),
    fc.record({ kind: fc.constant('time' as const), ms: fc.nat({ max: 4_000_000_000_000 }) }),
  );
  fc.assert(
    fc.property(text, asOf, (id, moment) => {
      const [path = '', search = ''] = allocationPath(id, moment).split('?');
      expect(routeOf(path, search)).toEqual({ view: 'allocation', ref: id, asOf: moment });
      expect(routeOf(questionPath(id), '')).toEqual({ view: 'question', id });
    }),
  );
});

test('a filter that is empty is none', () => {
  expect(overviewPath(new Map([['q', '']]))).toBe('/overview');
  expect(overviewPath(new Map([['q', 'a b&c']]))).toBe('/overview?q=a+b%26c');
});
