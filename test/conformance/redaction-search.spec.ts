import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { directoryHaystacks, fileHaystack, searchForSecrets, textHaystack } from './redaction-search.ts';

const SECRET = 'team-a/fine tune "7" é';
const found = async (text: string | readonly string[], secrets: readonly string[] = [SECRET]) => {
  const texts = typeof text === 'string' ? [text] : text;
  const hits = await searchForSecrets([textHaystack('dump', texts)], secrets);
  return hits.map(({ secret, form, offset, count }) => ({ secret, form, offset, count }));
};

test('nothing is found where nothing is', async () => {
  expect(await found('an ordinary line about team-b and nothing else')).toEqual([]);
});

describe('finds a secret however it is written', () => {
  const base64 = (prefix: string) => Buffer.from(`${prefix}${SECRET} and more`).toString('base64');
  test.each([
    { form: 'plain', text: SECRET },
    { form: 'json', text: JSON.stringify({ name: SECRET }) },
    { form: 'json', text: JSON.stringify({ name: SECRET }).replace('é', '\\u00e9') },
    { form: 'json', text: JSON.stringify(JSON.stringify({ name: SECRET })) },
    { form: 'url', text: `/x?name=${encodeURIComponent(SECRET)}` },
    { form: 'url', text: `/x?${new URLSearchParams({ name: SECRET })}`.replaceAll('%22', '%22') },
    { form: 'base64', text: base64('') },
    { form: 'base64', text: base64('a') },
    { form: 'base64', text: base64('ab') },
    { form: 'base64', text: Buffer.from(`?>${SECRET}`).toString('base64url') },
    { form: 'hex', text: `\\x00${Buffer.from(SECRET).toString('hex')}` },
  ])('$form: $text', async ({ form, text }) => {
    expect(await found(`before ${text} after`)).toEqual([
      { secret: SECRET, form, offset: expect.any(Number), count: 1 },
    ]);
  });
});

test('counts, and tells where the first one is', async () => {
  expect(await found('..secret-1..secret-1', ['secret-1'])).toEqual([
    { secret: 'secret-1', form: 'plain', offset: 2, count: 2 },
  ]);
});

test('of secrets that contain each other the longest is reported', async () => {
  const secrets = ['lumen-a', 'lumen-a-long', 'a-long'];
  expect(await found('x lumen-a-long y', secrets)).toMatchObject([{ secret: 'lumen-a-long', count: 1 }]);
  expect(await found('x lumen-a-long y lumen-a', secrets)).toMatchObject([
    { secret: 'lumen-a-long', count: 1 },
    { secret: 'lumen-a', count: 1 },
  ]);
});

test('a secret of less than six characters is ignored', async () => {
  expect(await found('fp-10 fp-100', ['fp-10', 'fp-100'])).toMatchObject([{ secret: 'fp-100', count: 1 }]);
});

test('finds what runs over several texts', async () => {
  expect(await found(['..sec', 'r', 'et-', '1..'], ['secret-1'])).toMatchObject([{ offset: 2, count: 1 }]);
  expect(await found('secret-1'.split(''), ['secret-1'])).toMatchObject([{ offset: 0, count: 1 }]);
});

describe('files', () => {
  let root: string;
  const chunk = 4 * 1024 * 1024;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'search-'));
    mkdirSync(join(root, 'base/1'), { recursive: true });
    const binary = Buffer.alloc(chunk + 100, 0xff);
    // Across the boundary of two reads.
    binary.write('secret-1', chunk - 3);
    binary.write('secret-2', binary.length - 8);
    writeFileSync(join(root, 'base/1/16384'), binary);
    writeFileSync(join(root, 'clean.log'), '{"event":"started"}\n');
    writeFileSync(join(root, 'empty'), '');
  });
  afterAll(() => rmSync(root, { recursive: true }));

  test('binary ones below a folder, also across the boundary of two reads and at the very end', async () => {
    const haystacks = directoryHaystacks(root);
    expect(haystacks.map((haystack) => haystack.name.slice(root.length))).toEqual([
      '/base/1/16384',
      '/clean.log',
      '/empty',
    ]);
    expect(await searchForSecrets(haystacks, ['secret-1', 'secret-2', 'secret-3'])).toEqual([
      {
        haystack: join(root, 'base/1/16384'),
        secret: 'secret-1',
        form: 'plain',
        offset: chunk - 3,
        count: 1,
      },
      {
        haystack: join(root, 'base/1/16384'),
        secret: 'secret-2',
        form: 'plain',
        offset: chunk + 92,
        count: 1,
      },
    ]);
  });

  test('one that has gone in the meantime holds nothing', async () => {
    expect(await searchForSecrets([fileHaystack(join(root, 'gone'))], ['secret-1'])).toEqual([]);
  });
});
