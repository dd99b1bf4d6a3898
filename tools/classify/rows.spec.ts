import { expect, test } from 'vitest';
import { parseRows } from './rows.ts';
import { percent, scoreRows } from './score.ts';

test('reads rows, ignores members it does not know, and skips blank lines', () => {
  const rows = parseRows('{"id":"a","provider":"x","code":null}\r\n\n{"id":"b","message":"no capacity"}\n');
  expect(rows.map(({ id }) => id)).toEqual(['a', 'b']);
});

test.each([
  ['{"id":"a"}\nnonsense', 'line 2: not JSON'],
  ['\n\n{"code":"secret"}', 'line 3: not a row: id (invalid_type)'],
  ['{"id":"a","code":7}', 'line 1: not a row: code (invalid_type)'],
  ['[]', 'line 1: not a row: row (invalid_type)'],
])('names the line that is no row: %j', (text, problem) => {
  expect(() => parseRows(text)).toThrow(problem);
});

test('a row without an expectation is classified and not scored', () => {
  const scored = scoreRows(parseRows('{"id":"a","code":"timeout"}'));
  expect(scored.answers).toEqual([
    { id: 'a', category: 'timeout', qualifying: false, rule: 'never-count-code:timeout' },
  ]);
  expect(scored.clear.rows).toBe(0);
  expect(percent(0, 0)).toBe(100);
});

test('scores clear and ambiguous rows apart and tells a never-count row that counts', () => {
  const wrong = { code: 'capacity_exhausted', expect: { qualifying: false, category: 'runtime' } };
  const tolerated = { qualifying: false, category: 'other' };
  const rows = [
    { id: 'a', ...wrong },
    { id: 'b', ...wrong, ambiguous: true },
    { id: 'c', code: 'x', expect: { qualifying: false, category: 'auth' }, accept: [tolerated] },
  ];
  const { clear, ambiguous } = scoreRows(parseRows(rows.map((row) => JSON.stringify(row)).join('\n')));
  expect(clear).toEqual({
    rows: 2,
    qualifyingRight: 1,
    categoryRight: 1,
    wrong: ['a'],
    countedWrongly: ['a'],
  });
  expect(ambiguous).toMatchObject({ rows: 1, wrong: ['b'] });
});
