import { expect, test } from 'vitest';
import { parseQuery } from '#platform/problem';
import { at } from '#support/builders';
import { recordedRow } from '#support/recorded';
import { parseAsOf, positionAt } from './as-of.ts';
import { ListQuery, StateQuery, ViewQuery } from './queries.ts';

const errorsOf = (schema: typeof ListQuery | typeof ViewQuery | typeof StateQuery, query: unknown) => {
  const parsed = parseQuery(schema, query);
  return parsed.ok ? [] : parsed.problem.body.errors;
};

test('a list is asked for by whatever filters are given; a blank one is none', () => {
  expect(
    ListQuery.parse({
      status: 'declined',
      bills: 'true',
      alerts: '',
      since: '7',
      until: '2026-11-29T13:00:00+01:00',
    }),
  ).toEqual({
    status: 'declined',
    bills: true,
    since: { pos: 7 },
    until: { time: '2026-11-29T12:00:00.000Z' },
    limit: 50,
  });
  expect(ViewQuery.parse({ before: '12' })).toEqual({ limit: 500, before: 12 });
  expect(StateQuery.parse({})).toEqual({});
});

test.each([
  ['a status that there is not', ListQuery, { status: 'gone' }, '/status', 'not_allowed'],
  ['a lane with blanks', ListQuery, { lane: 'g c p' }, '/lane', 'wrong_format'],
  ['neither true nor false', ListQuery, { bills: 'yes' }, '/bills', 'not_allowed'],
  ['no page at all', ListQuery, { limit: '0' }, '/limit', 'out_of_range'],
  ['a page over its bound', ListQuery, { limit: '201' }, '/limit', 'out_of_range'],
  ['more lines than are told', ViewQuery, { limit: '2001' }, '/limit', 'out_of_range'],
  ['a number in another form', ViewQuery, { limit: '1e3' }, '/limit', 'wrong_format'],
  ['a cursor that is none', ListQuery, { after: '-1' }, '/after', 'wrong_format'],
  ['a time without its offset', StateQuery, { as_of: '2026-11-29T12:00:00' }, '/as_of', 'wrong_format'],
  ['a day that there is not', ListQuery, { since: '2026-02-30T12:00:00Z' }, '/since', 'wrong_format'],
  ['a parameter that was sent twice', ListQuery, { lane: ['gcp', 'runpod'] }, '/lane', 'wrong_type'],
  ['a misspelt filter', ListQuery, { lanes: 'gcp' }, '', 'unknown_member'],
])('%s is refused by its name', (_what, schema, query, pointer, code) => {
  expect(errorsOf(schema, query)).toEqual([{ pointer, code }]);
});

test.each(['0', '999999999999999'])('the bounds of a page are taken: position %s', (after) => {
  expect(ListQuery.parse({ limit: '200', after })).toMatchObject({ limit: 200, after: Number(after) });
});

test.each(['', 'now', '12.5', '-1', '2026-11-29', '1234567890123456'])('%j is no moment', (text) => {
  expect(parseAsOf(text)).toBeNull();
});

test.each([
  ['before the first', '09:59:59.999', 0],
  ['of the first', '10:00:00.000', 2],
  ['between two', '10:00:00.500', 2],
  ['of the last', '10:00:05.000', 4],
  ['after the last', '23:00:00.000', 4],
])('the position at a time %s', async (_when, time, pos) => {
  const seconds = [0, 0, 3, 5];
  const log = {
    head: async () => ({ pos: seconds.length, hash: '' }),
    at: async (place: number) => recordedRow({ recordedAt: at(seconds[place - 1] ?? 0) }),
  };
  expect(await positionAt(log, `2026-11-29T${time}Z`)).toBe(pos);
});

test('an empty log is at position 0 at any time', async () => {
  const empty = { head: async () => ({ pos: 0, hash: '' }), at: async () => null };
  expect(await positionAt(empty, '2026-11-29T12:00:00.000Z')).toBe(0);
});
