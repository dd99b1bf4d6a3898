import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DecisionDifference } from '#domain/audit/compare-decisions';
import { codeTable } from '#domain/classify/code-table';
import { PROVIDER_CODES } from '#domain/classify/provider-codes';
import { Sealer } from '#platform/sealer';
import { Secret } from '#platform/secret';
import { DEFAULT_RULES } from '#support/builders';
import { createDatabase, type TestDatabase } from '#support/infra';
import { openLog } from '#support/open-log';
import { type AuditLog, withAuditLog } from '../../apps/audit/src/audit-log.ts';
import { replay } from '../../apps/audit/src/replay.ts';
import {
  type CompareOptions,
  type CompareReport,
  replayCompare,
} from '../../apps/audit/src/replay-compare.ts';
import { CommandLine, History, tamper, WRAP_KEYS } from './audit-kit.ts';

/** What made the history: a question after two failures, and a code that did not count then. */
const THEN = {
  rules: { ...DEFAULT_RULES, threshold: 2 },
  table: codeTable(
    PROVIDER_CODES.map((row) =>
      row.codes.includes('INSUFFICIENT_CAPACITY') ? { ...row, category: 'other' as const } : row,
    ),
  ),
};
const THRESHOLD = 'team-a/threshold';
const TABLE = 'team-a/table';
const NEITHER = 'team-a/neither';
const STOCKOUT = { failure: { code: 'INSUFFICIENT_CAPACITY', message: '' } };
const AUTH = { failure: { code: 'AuthFailure', message: 'secret-text' } };
const HEAD = 24;

let database: TestDatabase;
let streams: { readonly threshold: string; readonly table: string };
let cli: CommandLine;

beforeAll(async () => {
  database = await createDatabase();
  const history = await History.open(database.url, THEN);
  // 1 to 8: tracked, asked at 4, accepted at 6, ignored.
  await history.attempt(THRESHOLD);
  await history.attempt(THRESHOLD);
  await history.answer(THRESHOLD, true);
  await history.attempt(THRESHOLD);
  // 9 to 18: not counted at 10 and 12, counted, asked at 16, declined at 18.
  await history.attempt(TABLE, STOCKOUT);
  await history.attempt(TABLE, STOCKOUT);
  await history.attempt(TABLE);
  await history.attempt(TABLE);
  await history.answer(TABLE, false);
  // 19 to 24: never counted, placed, a fresh count.
  await history.attempt(NEITHER, AUTH);
  await history.attempt(NEITHER, { success: true });
  await history.attempt(NEITHER);
  streams = { threshold: await history.streamOf(THRESHOLD), table: await history.streamOf(TABLE) };
  await history.log.close();
  cli = new CommandLine();
});
afterAll(async () => {
  cli.remove();
  await database.drop();
});

function compared(change: Partial<CompareOptions> = {}, url = database.url): Promise<CompareReport> {
  return withAuditLog(new Secret(url), (log) =>
    replayCompare(log, { rules: DEFAULT_RULES, unsealer: unsealerOf(log), ...change }),
  );
}

const unsealerOf = (log: AuditLog) => new Sealer({ store: log.sealed, wrapKeys: WRAP_KEYS });

const told = ({ differences }: Pick<CompareReport, 'differences'>) =>
  differences.map(({ pos, recorded, today }) => `${pos} ${words(recorded)} -> ${words(today)}`);
const words = ({ decided, reason, category }: DecisionDifference['recorded']) =>
  [decided, reason, category].filter((word) => word !== null).join(' ');

const BY_THRESHOLD = [
  '4 FallbackPrompted failed_attempt_threshold capacity_exhausted -> AttemptTracked threshold_not_met capacity_exhausted',
  '16 FallbackPrompted failed_attempt_threshold capacity_exhausted -> AttemptTracked threshold_not_met capacity_exhausted',
];
const BY_TABLE = [
  '10 AttemptTracked threshold_not_met other -> AttemptTracked threshold_not_met capacity_exhausted',
  '12 AttemptTracked threshold_not_met other -> AttemptTracked threshold_not_met capacity_exhausted',
];
const inOrder = (lines: readonly string[]) =>
  lines.toSorted((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10));

describe('a history made with another threshold and another table of codes', () => {
  test('is the same where both are those that made it', async () => {
    expect(await compared(THEN)).toMatchObject({
      ok: true,
      head: { pos: HEAD },
      upTo: HEAD,
      events: HEAD,
      streams: 3,
      decided: 12,
      found: 0,
      explainedOtherwise: 0,
      failures: { classified: 10, gone: 0, notOpened: 0 },
      undecided: 0,
      differences: [],
    });
  });

  test('lists exactly the decisions that today would be others', async () => {
    const report = await compared();
    expect(told(report)).toEqual(inOrder([...BY_THRESHOLD, ...BY_TABLE]));
    // 1/2 would be 1/3: the same decision for another reason.
    expect(report).toMatchObject({ ok: false, found: 4, explainedOtherwise: 4, decided: 12 });
  });

  test.each([
    ['the threshold alone', { rules: DEFAULT_RULES, table: THEN.table }, BY_THRESHOLD],
    ['the table alone', { rules: THEN.rules }, BY_TABLE],
  ])('lists what %s changes', async (_what, change, expected) => {
    expect(told(await compared(change))).toEqual(expected);
  });

  test('gives both explanations, what caused it and the version that it saw', async () => {
    const [difference] = (await compared()).differences;
    expect(difference).toMatchObject({
      stream: streams.threshold,
      pos: 4,
      input: { type: 'AttemptReported', pos: 3 },
      saw: 1,
    });
    expect(difference?.recorded.explanation).toEqual([
      { code: 'rule:not-enough-resources', text: 'The failure was classified by this rule.' },
    ]);
    expect(difference?.today.explanation).toContainEqual({
      code: 'below_threshold:2/3',
      text: 'Fewer counting failures than a question needs.',
    });
    expect(difference?.members).toContainEqual({
      member: 'decided',
      recorded: 'FallbackPrompted',
      today: 'AttemptTracked',
    });
  });

  test('answers the same in several passes over shares of the streams', async () => {
    expect(await compared({ streamsInMemory: 1, pageSize: 2 })).toEqual(await compared());
  });

  test('tells of every difference, however few are kept', async () => {
    const seen: number[] = [];
    const report = await compared({ keepMax: 1, onDifference: ({ pos }) => seen.push(pos) });
    expect([report.found, report.differences.length, seen]).toEqual([4, 1, [4, 10, 12, 16]]);
  });

  test.each([
    ['before a difference', 3, []],
    ['at a difference', 4, [4]],
    // Position 18 is the second half of the command that begins at 17.
    ['inside a command: at the last whole one', 17, [4, 10, 12, 16]],
  ])('stops %s', async (_where, until, expected) => {
    const report = await compared({ until });
    expect(report.differences.map(({ pos }) => pos)).toEqual(expected);
    expect(report.upTo).toBe(until === 17 ? 16 : until);
    expect(report.undecided).toBe(until === 3 ? 1 : 0);
  });

  test('takes over what was recorded of a failure that cannot be read', async () => {
    const sealed = await compared({ unsealer: null });
    expect(told(sealed)).toEqual(BY_THRESHOLD);
    expect(sealed.failures).toEqual({ classified: 0, gone: 0, notOpened: 10 });

    const copy = await createDatabase({ template: database.name });
    const admin = await openLog(copy.url, { role: 'spillway_admin' });
    await admin.sealed.erase(streams.table).finally(() => admin.close());
    const erased = await compared({}, copy.url);
    expect(told(erased)).toEqual(BY_THRESHOLD);
    expect(erased.failures).toEqual({ classified: 6, gone: 4, notOpened: 0 });
    await copy.drop();
  });

  test.each([
    [
      'an answer is judged again: it answers no question',
      `update spillway.event set body = replace(body, '"accept":true', '"accept":false') where pos = 5`,
      '6 ConsentAccepted -> ConsentDeclined',
    ],
    [
      'a decision without its input',
      `update spillway.event set meta = replace(meta, 'causedBy":"', 'causedBy":"x') where pos = 8`,
      '8 AttemptIgnored preemptible_already_selected -> no input caused it',
    ],
    [
      'a decision that claims another version than the one it was made on',
      `update spillway.event set meta = replace(meta, '"saw":1', '"saw":0') where pos = 4`,
      '4 FallbackPrompted failed_attempt_threshold capacity_exhausted -> FallbackPrompted failed_attempt_threshold capacity_exhausted',
    ],
    [
      'an event that cannot be read ends its allocation, and no other',
      `update spillway.event set schema_version = 99 where pos = 10`,
      '10 AttemptTracked v99 -> unreadable: newer_version',
    ],
    [
      'a row that is missing',
      `delete from spillway.event where pos = 3`,
      '4 FallbackPrompted v1 -> unreadable: an event before it is missing',
    ],
  ])('names %s', async (_what, statement, expected) => {
    const copy = await createDatabase({ template: database.name });
    await tamper(copy.url, statement);
    expect(told(await compared(THEN, copy.url))).toEqual([expected]);
    await copy.drop();
  });
});

describe('replay up to a position', () => {
  const replayed = (until: number) => withAuditLog(new Secret(database.url), (log) => replay(log, { until }));

  test('folds what stands before it, and passes over rows that have moved on', async () => {
    // The table knows 8 of the first stream; the others have moved on behind 10.
    expect(await replayed(10)).toMatchObject({ ok: true, upTo: 10, events: 10, streams: 2, rows: 1 });
  });

  test('ends with a whole command, and with the head', async () => {
    expect(await replayed(17)).toMatchObject({ ok: true, upTo: 16 });
    expect(await replayed(999)).toMatchObject({ ok: true, upTo: HEAD, rows: 3 });
  });
});

describe('spillway audit replay --compare', () => {
  const run = (line: string, more: Readonly<Record<string, string>> = {}) =>
    cli.run(line.split(' '), { SPILLWAY_DATABASE_URL: database.url, ...cli.keyEnv, ...more });

  test('ends with 1 and shows both explanations, never what a caller wrote', async () => {
    const { code, out, err } = await run('audit replay --compare');
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out).toMatch(
      /^4 differences {2}12 decisions decided again, in 24 events of 3 streams, up to position 24\n/,
    );
    expect(out).toMatch(
      /position 4 .*, decided AttemptReported at 3 on version 1\n {2}recorded {2}FallbackPrompted.*\n.*\n {2}today {5}AttemptTracked {2}threshold_not_met {2}capacity_exhausted, counts\n/,
    );
    expect(out).toContain('4 decisions would be the same for another reason.');
    expect(out).not.toMatch(/secret-text|team-a|h200/);
  });

  test('as one JSON document; settings by option go before those of the environment', async () => {
    const { code, out } = await run('audit replay --compare --json --threshold 2', {
      SPILLWAY_PROMPT_THRESHOLD: '1',
    });
    expect(code).toBe(1);
    const report: CompareReport = JSON.parse(out);
    expect(report).toMatchObject({ ok: false, found: 2, rules: rulesAt(2) });
    expect(told(report)).toEqual(BY_TABLE);
  });

  test('ends with 0 where nothing differs', async () => {
    const { SPILLWAY_WRAP_KEYS_FILE: _none, ...keys } = { ...cli.keyEnv };
    const result = await cli.run(['audit', 'replay', '--compare', '--until', '24', '--json'], {
      SPILLWAY_DATABASE_URL: database.url,
      ...keys,
      SPILLWAY_PROMPT_THRESHOLD: '2',
    });
    expect(JSON.parse(result.out)).toMatchObject({ ok: true, differences: [], failures: { notOpened: 10 } });
    expect(result.code).toBe(0);
  });

  test.each([
    ['audit replay --threshold 2', /--threshold.*add --compare$/],
    ['audit replay --compare --threshold 0', /whole number above 0/],
    ['audit replay --compare --prompt-budget many', /whole number above 0/],
    ['audit replay --compare --until 0', /whole number from 1/],
  ])('refuses %s', async (line, sentence) => {
    const { code, out, err } = await run(line);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err.trim()).toMatch(sentence);
  });
});

function rulesAt(threshold: number) {
  return { ...DEFAULT_RULES, threshold };
}
