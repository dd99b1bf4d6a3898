import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AllocationListBody, StateBody } from '#platform/openapi/audit-schemas';
import { createDatabase, type TestDatabase } from '#support/infra';
import { CommandLine, History } from './audit-kit.ts';

const ASKED = 'team-a/finetune-7';
const PLACED = 'team-b/serve-1';

let database: TestDatabase;
let cli: CommandLine;
let refs: { readonly asked: string; readonly placed: string };

beforeAll(async () => {
  database = await createDatabase();
  const history = await History.open(database.url);
  for (let failure = 0; failure < 3; failure += 1) await history.attempt(ASKED);
  await history.attempt(PLACED, { success: true });
  refs = { asked: await history.refOf(ASKED), placed: await history.refOf(PLACED) };
  await history.log.close();
  cli = new CommandLine();
});
afterAll(async () => {
  cli.remove();
  await database.drop();
});

const audit = (...args: readonly string[]) =>
  cli.run(['audit', ...args], { SPILLWAY_DATABASE_URL: database.url, ...cli.keyEnv });
const parsed = (text: string): unknown => JSON.parse(text);

describe('audit state', () => {
  test('shows where an allocation stands, by its ref or its name', async () => {
    const [byRef, byName] = [
      await audit('state', refs.asked, '--json'),
      await audit('state', '--name', ASKED, '--json'),
    ];
    expect(byRef).toMatchObject({ code: 0, err: '', out: byName.out });
    expect(StateBody.parse(parsed(byRef.out))).toMatchObject({
      pos: 6,
      record: { count: 3, status: 'awaiting-consent', openQuestion: expect.any(String) },
      placement: null,
    });
  });

  test('shows where it stood at a position or a time', async () => {
    const at = async (moment: string) =>
      StateBody.parse(parsed((await audit('state', refs.asked, '--as-of', moment, '--json')).out));
    expect(await at('4')).toMatchObject({ pos: 4, record: { count: 2, status: 'tracking' } });
    const { at: time } = await at('2');
    expect((await at(time)).pos).toBeGreaterThanOrEqual(2);
    expect(await at('2999-01-01T00:00:00Z')).toMatchObject({ pos: 6 });
  });

  test('as a table has a line a member', async () => {
    const { code, out } = await audit('state', refs.asked);
    expect(code).toBe(0);
    expect(out).toMatch(/^After position 6, recorded 20/);
    expect(out).toMatch(/record status +awaiting-consent\n/);
    expect(out).toMatch(/placement +none\n/);
  });

  test('ends with 1 where nothing was recorded of it by then', async () => {
    expect(await audit('state', refs.placed, '--as-of', '6')).toMatchObject({
      code: 1,
      out: expect.stringContaining('Nothing was recorded'),
    });
    expect(await audit('state', refs.placed, '--as-of', '6', '--json')).toMatchObject({
      code: 1,
      out: 'null\n',
    });
  });

  test.each([
    [['state'], /either the ref of the allocation or --name/],
    [['state', '0'.repeat(64)], /no allocation of this ref/],
    [['state', '--name', 'team-x/never'], /no allocation of this name/],
    [['state', '0'.repeat(64), '--as-of', 'yesterday'], /Give a position, or a time/],
  ])('%j ends with 2 and says why', async (args, why) => {
    expect(await audit(...args)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(why) });
  });
});

describe('audit list', () => {
  const listed = async (...args: readonly string[]) => {
    const { out, code } = await audit('list', '--json', ...args);
    const { rows, next } = AllocationListBody.parse(parsed(out));
    return { code, refs: rows.map(({ ref }) => ref), next };
  };

  test('lists all, newest change first, with names for who may unseal', async () => {
    expect(await listed()).toEqual({ code: 0, refs: [refs.placed, refs.asked], next: null });
    const { out } = await audit('list', '--unseal');
    expect(out.split('\n')[0]).toMatch(/^position +changed +status .*ref +name$/);
    expect(out).toContain(ASKED);
    expect((await audit('list')).out).not.toContain('team-');
  });

  test('takes filters, and ends with 1 when none is so', async () => {
    expect(await listed('--status', 'awaiting-consent')).toMatchObject({ code: 0, refs: [refs.asked] });
    expect(await listed('--no-bills', '--no-alerts', '--since', '8')).toMatchObject({ refs: [refs.placed] });
    expect(await listed('--ref-prefix', refs.asked.slice(0, 16))).toMatchObject({ refs: [refs.asked] });
    expect(await listed('--bills')).toMatchObject({ code: 1, refs: [] });
    expect((await audit('list', '--alerts')).out).toBe('No allocation is as asked.\n');
  });

  test('says how to go on behind its limit', async () => {
    expect(await listed('--limit', '1')).toMatchObject({ refs: [refs.placed], next: '8' });
    expect((await audit('list', '--limit', '1')).out).toContain('--until 7 goes on');
    expect(await listed('--limit', '1', '--until', '7')).toMatchObject({ refs: [refs.asked], next: null });
  });

  test.each([
    [['list', '--status', 'gone'], /Allowed choices/],
    [['list', '--limit', '0'], /whole number from 1/],
    [['list', '--since', 'yesterday'], /--since/],
    [['list', '--ref-prefix', 'XYZ'], /--ref-prefix/],
  ])('%j ends with 2 and names the option', async (args, why) => {
    expect(await audit(...args)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(why) });
  });
});

test('a long timeline is told by pages', async () => {
  const Story = z.object({ earlier: z.number().optional(), lines: z.array(z.object({ pos: z.number() })) });
  const page = async (...args: readonly string[]) => {
    const { lines, earlier } = Story.parse(
      parsed((await audit('timeline', refs.asked, '--json', ...args)).out),
    );
    return { positions: lines.map(({ pos }) => pos), earlier };
  };
  expect(await page()).toEqual({ positions: [1, 2, 3, 4, 5, 6], earlier: undefined });
  expect(await page('--limit', '2')).toEqual({ positions: [5, 6], earlier: 5 });
  expect(await page('--limit', '4', '--before', '5')).toEqual({
    positions: [1, 2, 3, 4],
    earlier: undefined,
  });
  expect((await audit('timeline', refs.asked, '--limit', '2')).out).toContain('--before 5');
});
