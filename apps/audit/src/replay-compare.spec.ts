import { describe, expect, test } from 'vitest';
import { canonicalJson } from '#events/canonical-json';
import type { RecordedEvent } from '#events/envelope';
import { DAY_S, DEFAULT_RULES, HOUR_S } from '#support/builders';
import { Recording } from '#support/recording';
import { gone, poll, Story, works } from '#support/watch-builders';
import { type CompareOptions, replayCompare } from './replay-compare.ts';

/** The log that holds nothing but these rows, from position 11 on. */
async function compared(rows: readonly RecordedEvent[], change: Partial<CompareOptions> = {}) {
  const log = {
    head: async () => ({ pos: rows.at(-1)?.pos ?? 0, hash: '' }),
    readAfter: async (pos: number, limit: number) => rows.filter((row) => row.pos > pos).slice(0, limit),
    allocations: { count: async () => 1 },
  };
  const report = await replayCompare(log, { rules: DEFAULT_RULES, unsealer: null, ...change });
  // The stories begin with a launch that no message asked for.
  const [launch, ...differences] = report.differences;
  expect(launch).toMatchObject({
    recorded: { decided: 'LaunchAccepted' },
    today: { decided: 'no input caused it' },
  });
  return { ...report, differences };
}

const story = (failover: 'standing' | 'ask' | 'never') =>
  new Recording(new Story().launch(failover).placed(0));
const vanished = (failover: 'standing' | 'ask' | 'never') =>
  story(failover).see(poll(60, 'queued'), gone(300), gone(360));

/** The newest row of a type with its body changed. */
function withBody(
  rows: readonly RecordedEvent[],
  type: string,
  change: (body: { readonly [name: string]: unknown }) => object,
): readonly RecordedEvent[] {
  const last = rows.findLast((row) => row.type === type);
  return rows.map((row) =>
    row === last ? { ...row, body: canonicalJson(change(JSON.parse(row.body))) } : row,
  );
}

describe('observations', () => {
  test.each(['standing', 'ask', 'never'] as const)('are judged again to the same: %s', async (failover) => {
    const { rows } = vanished(failover);
    expect(await compared(rows)).toMatchObject({
      differences: [],
      decided: 4,
      explainedOtherwise: 0,
      undecided: 0,
    });
  });

  test('also where a page ends inside a command', async () => {
    const { rows } = vanished('standing');
    for (let pageSize = 1; pageSize <= rows.length; pageSize += 1) {
      expect((await compared(rows, { pageSize })).differences).toEqual([]);
    }
  });

  test('what would have followed today is named once, with the whole of both', async () => {
    const { rows } = story('standing').see(poll(60, 'queued'), works(100), works(200));
    const last = rows.findLast(({ type }) => type === 'ObservationReported');
    const vanishes = rows.map((row) =>
      row === last
        ? { ...row, body: row.body.replace('"provider":"running"', '"provider":"terminated"') }
        : row,
    );
    const { differences } = await compared(vanishes);
    expect(differences).toHaveLength(1);
    expect(differences[0]).toMatchObject({
      input: { type: 'ObservationReported', pos: last?.pos },
      recorded: { decided: 'ObservationJudged' },
      today: { decided: 'ObservationJudged + AllocationBlocked', reason: 'instance_lost_after_start' },
    });
    expect(differences[0]?.today.explanation).toContainEqual(
      expect.objectContaining({ code: expect.stringMatching(/^rule:4\.7 plain_loss/) }),
    );
  });

  test.each<[string, string, (body: { readonly [name: string]: unknown }) => object, readonly unknown[]]>([
    [
      'another withdrawn question',
      'FailoverPrompted',
      (body) => ({ ...body, withdrew: 'a'.repeat(26) }),
      [['3.FailoverPrompted.withdrew', 'a'.repeat(26), null]],
    ],
    [
      'another loss',
      'QueueLossRecorded',
      (body) => ({ ...body, rung: 'od_a' }),
      [['2.QueueLossRecorded.rung', 'od_a', 'flex_a']],
    ],
  ])('%s is named by its member', async (_what, type, change, expected) => {
    const { differences } = await compared(withBody(vanished('ask').rows, type, change));
    const [first] = differences;
    expect(first?.members.map(({ member, recorded, today }) => [member, recorded, today])).toEqual(expected);
  });

  test('a judgement that says the same for another reason is no difference', async () => {
    const rows = withBody(vanished('ask').rows, 'ObservationJudged', (body) => {
      const verdict = { ...(typeof body.verdict === 'object' ? body.verdict : {}), rule: 'an older rule' };
      return { ...body, verdict };
    });
    expect(await compared(rows)).toMatchObject({ differences: [], explainedOtherwise: 1 });
  });

  test('a token that lives shorter today is a difference of the question', async () => {
    const { rows } = vanished('ask');
    const rules = { ...DEFAULT_RULES, tokenLifeS: HOUR_S };
    const [first, ...more] = (await compared(rows, { rules })).differences;
    expect(more).toEqual([]);
    expect(first?.recorded.decided).toBe('ObservationJudged + QueueLossRecorded + FailoverPrompted');
    expect(first?.members.map(({ member }) => member)).toEqual([
      '3.FailoverPrompted.expiresAt',
      '3.FailoverPrompted.after.openQuestion.expiresAt',
    ]);
    expect((await compared(rows, { rules: { ...rules, tokenLifeS: DAY_S } })).differences).toEqual([]);
  });

  test('one that was not judged yet is counted', async () => {
    const { rows } = story('standing').see(poll(60, 'queued'));
    expect(await compared(rows.slice(0, -1))).toMatchObject({ differences: [], undecided: 1 });
  });
});
