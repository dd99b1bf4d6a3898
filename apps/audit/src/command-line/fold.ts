import { stripVTControlCharacters } from 'node:util';

/**
 * Words in lines of at most `width` columns, each behind its indent. A longer word gets a line of its own. Colours
 * take no column.
 */
export function wrapped(text: string, indent: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').filter((part) => part !== '')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && indent.length + columnsOf(longer) > width) {
      lines.push(indent + line);
      line = word;
    } else {
      line = longer;
    }
  }
  return line === '' ? lines : [...lines, indent + line];
}

/** A line, folded behind a hanging indent where it is wider than `width` columns; else as it is. */
export function folded(line: string, hanging: string, width: number): readonly string[] {
  if (columnsOf(line) <= width) return [line];
  const lead = line.slice(0, line.length - line.trimStart().length);
  // The first line keeps its columns: it is cut at the last blank that fits.
  const words = line.trimStart().split(' ');
  let first = lead + (words.shift() ?? '');
  for (let next = words[0]; next !== undefined && columnsOf(`${first} ${next}`) <= width; next = words[0]) {
    first = `${first} ${next}`;
    words.shift();
  }
  return [first, ...wrapped(words.join(' '), hanging, width)];
}

function columnsOf(text: string): number {
  return stripVTControlCharacters(text).length;
}
