import { describe, expect, test } from 'vitest';
import { type Output, processTerminal, visible } from './terminal.ts';

function outputs(isTTY: boolean, columns?: number) {
  const written = { out: '', err: '' };
  const out: Output = {
    isTTY,
    ...(columns === undefined ? {} : { columns }),
    write: (text) => {
      written.out += text;
    },
  };
  const err: Output = {
    isTTY,
    write: (text) => {
      written.err += text;
    },
  };
  return { terminal: processTerminal(out, err), written };
}

describe('the terminal', () => {
  test('elsewhere than on a terminal writes no colour and no progress', () => {
    const { terminal, written } = outputs(false);
    terminal.line(terminal.colours.red('damaged'));
    terminal.table(['a', 'b'], [['1', '2']]);
    const progress = terminal.progress('verify');
    progress.on(1, 2);
    progress.end();
    expect(written).toEqual({ out: 'damaged\na  b\n1  2\n', err: '' });
  });

  test('draws progress over itself on standard error and takes it away at the end', () => {
    const { terminal, written } = outputs(true);
    const progress = terminal.progress('verify');
    progress.on(1, 2);
    progress.on(1, 2);
    progress.on(0, 0);
    progress.end();
    const half = `verify [${'#'.repeat(15)}${'.'.repeat(15)}] 50%`;
    const full = `verify [${'#'.repeat(30)}] 100%`;
    expect(written).toEqual({ out: '', err: `\r${half}\r${full}\r${' '.repeat(full.length)}\r` });
  });

  test.each([
    { isTTY: true, columns: 120, is: 120 },
    { isTTY: true, columns: 10, is: 40 },
    { isTTY: true, columns: undefined, is: 80 },
    { isTTY: false, columns: 120, is: Number.POSITIVE_INFINITY },
  ])('has $is columns: terminal $isTTY, $columns', ({ isTTY, columns, is }) => {
    expect(outputs(isTTY, columns).terminal.columns).toBe(is);
  });

  test.each([
    ['moves the cursor', 'a\u001b[2Jb', 'a\\u{1b}[2Jb'],
    ['is an eight-bit control', 'a\u009bb', 'a\\u{9b}b'],
    ['turns the direction', 'a\u202eb', 'a\\u{202e}b'],
    ['breaks the line', 'a\nb', 'a\\u{a}b'],
    ['is ordinary', 'übung 🙂 “x”', 'übung 🙂 “x”'],
  ])('shows text that %s', (_what, text, shown) => {
    expect(visible(text)).toBe(shown);
  });
});
