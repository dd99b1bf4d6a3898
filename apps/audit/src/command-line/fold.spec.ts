import pc from 'picocolors';
import { expect, test } from 'vitest';
import { folded } from './fold.ts';

test('folding keeps columns and colours, and leaves alone what fits', () => {
  expect(folded('  short  line', '    ', 100)).toEqual(['  short  line']);
  expect(folded('  12  one two three', '    ', 12)).toEqual(['  12  one', '    two', '    three']);
  const bold = pc.createColors(true).bold('one');
  expect(folded(`  ${bold} two`, '    ', 9)).toEqual([`  ${bold} two`]);
});

test('what has no blank is not torn: it can be copied', () => {
  expect(folded('a 0123456789 b', '  ', 6)).toEqual(['a', '  0123456789', '  b']);
});

test('without a bound nothing is folded', () => {
  expect(folded('a '.repeat(500).trim(), '  ', Number.POSITIVE_INFINITY)).toHaveLength(1);
});
