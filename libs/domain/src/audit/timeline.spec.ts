import { describe, expect, test } from 'vitest';
import { canonicalJson } from '#events/canonical-json';
import { CATALOGUE, type KnownEvent } from '#events/catalogue';
import { readEvent } from '#events/upcast';
import { accepted, counted, declined, notCounted, prompted, succeeded } from '#support/allocation-events';
import { attempt, digestOf, idOf, QUESTION } from '#support/builders';
import { recorded, recordedRow } from '#support/recorded';
import { sealedTextsOf, timeline, unreadableLine } from './timeline.ts';
import { shortened } from './told.ts';

/** An input as it is read back from the log. */
function input(type: 'AttemptReported' | 'ConsentAnswered' | 'ParkedSkipped', data: unknown): KnownEvent {
  return readEvent(recordedRow({ type, role: 'input', eventId: idOf('input'), body: canonicalJson(data) }));
}

const short = (name: string) => shortened(digestOf(name));
const questionId = idOf(QUESTION);

/** Who did what, as one text. */
const said = (event: KnownEvent) => timeline([event]).map(({ who, what }) => `${who} ${what}`)[0];

describe('the story of an allocation', () => {
  test('has a line an event, with position, time, reasons and the record after it', () => {
    expect(timeline([recorded(counted(2), 2)])).toEqual([
      {
        pos: 2,
        at: '2026-11-29T10:00:00.000Z',
        type: 'AttemptTracked',
        stage: 'classify',
        who: 'classifier',
        what: 'counted the failure: capacity_exhausted',
        because: [
          { code: 'rule:capacity_exhausted', text: 'The failure was classified by this rule.' },
          { code: 'below_threshold:2/3', text: 'Fewer counting failures than a question needs.' },
        ],
        machines: [],
        after: { of: 'record', count: 2, status: 'tracking', consent: 'not-requested', pool: 'on-demand' },
        texts: [],
      },
    ]);
  });

  test.each([
    [
      'a failure',
      input('AttemptReported', attempt().input),
      `local reported a placement failure (${short('failure')}): request ${short('request')}, evidence ${short('evidence')}`,
    ],
    [
      'a success as it was reported',
      input('AttemptReported', attempt({ success: true }).input),
      `local reported that the allocation was placed: request ${short('request')}, evidence ${short('evidence')}`,
    ],
    [
      'a failure that does not count and opens a record',
      recorded(notCounted(0), 1),
      'classifier opened a fresh record and did not count it: auth',
    ],
    [
      'a question',
      recorded(prompted(3), 3),
      `classifier asked whether preemptible capacity may be used: counting failure 3, capacity_exhausted (question ${shortened(questionId)}, open until 2026-11-30 10:00:00 UTC)`,
    ],
    [
      'an answer',
      input('ConsentAnswered', {
        answerIdDigest: null,
        bodyDigest: digestOf('body'),
        answeredBy: digestOf('person'),
        accept: true,
        questionId,
      }),
      `caller ${short('person')} answered yes to question ${shortened(questionId)}`,
    ],
    [
      'consent',
      recorded(accepted(), 4),
      'consent recorded consent: the identical allocation may use preemptible capacity',
    ],
    [
      'a refusal',
      recorded(declined(), 4),
      `consent recorded the refusal: it stays on demand, and evidence ${short('evidence')} is not asked about again`,
    ],
    [
      'a success as it was decided',
      recorded(succeeded({ evidenceSince: 1 }), 1),
      'classifier took the allocation as placed: the count starts again',
    ],
    [
      'an operator',
      input('ParkedSkipped', { consumer: 'classifier', stream: 's', firstPos: 7, skippedPos: 7 }),
      'operator told classifier to pass over position 7',
    ],
  ])('%s', (_what, event, sentence) => {
    expect(said(event)).toBe(sentence);
  });

  test('shortens every digest', () => {
    const stories = timeline([input('AttemptReported', attempt().input), recorded(prompted(3), 3)]);
    expect(JSON.stringify(stories)).not.toMatch(/[0-9a-f]{64}|[a-z2-7]{26}/);
  });

  test('shows what a caller wrote only if it is given, and says when it is gone', () => {
    const failure = input('AttemptReported', attempt().input);
    const digest = digestOf('failure');
    expect(sealedTextsOf(failure)).toEqual([{ kind: 'failure', digest }]);
    expect(timeline([failure]).map(({ texts }) => texts)).toEqual([[]]);
    expect(timeline([failure], new Map([[digest, '{"code":"X"}']])).map(({ texts }) => texts)).toEqual([
      [{ kind: 'failure', text: '{"code":"X"}' }],
    ]);
    expect(timeline([failure], new Map([[digest, null]])).map(({ texts }) => texts)).toEqual([
      [{ kind: 'failure', text: null }],
    ]);
  });

  test('keeps a row that this version cannot read', () => {
    const row = recordedRow({ pos: 9, type: 'SomethingNew', schemaVersion: 3 });
    expect(Object.keys(CATALOGUE)).not.toContain(row.type);
    expect(unreadableLine(row, 'unknown_type')).toMatchObject({
      pos: 9,
      what: 'recorded SomethingNew version 3, which cannot be read here: unknown_type',
    });
  });
});
