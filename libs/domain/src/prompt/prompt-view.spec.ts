import { describe, expect, test } from 'vitest';
import { type Escalation, TRIGGERS } from '#events/intent.events';
import { at, digestOf, idOf } from '#support/builders';
import { goldenEvent } from '#support/golden';
import { Story } from '#support/watch-builders';
import { PromptBody } from '../audit/prompt-schema.ts';
import { promptView, requestDigestOf, type Shown } from './prompt-view.ts';
import type { RecordedQuestion } from './recorded-question.ts';

const ASKED = goldenEvent('FallbackPrompted', {}, { eventId: idOf('asked'), pos: 7, recordedAt: at(100) });
const SHOWN: Shown = { now: at(200), viewer: digestOf('me') };

function pool(change: Partial<RecordedQuestion> = {}): RecordedQuestion {
  return {
    asked: ASKED,
    id: idOf('renewed'),
    expiresAt: at(1_000),
    end: null,
    before: [],
    placement: null,
    ...change,
  };
}

const launched = (
  gpu: { family: string | null; product: string | null; count: number | null } | null = null,
) =>
  new Story()
    .launch({ failover: 'ask', terminal: { lane: 'runpod', machine: gpu === null ? null : 'pod-4', gpu } })
    .placed(10).placement;

function failover(
  change: Partial<Escalation> = {},
  gpu: Parameters<typeof launched>[0] = null,
): RecordedQuestion {
  const { data } = goldenEvent('FailoverPrompted');
  const escalation = { ...data.escalation, ...change };
  const asked = goldenEvent('FailoverPrompted', { escalation }, { eventId: idOf('asked') });
  return pool({ asked, placement: launched(gpu) });
}

describe('the pool question', () => {
  test('names both ids, its times, and what differs', () => {
    expect(promptView(pool(), SHOWN)).toMatchObject({
      id: idOf('renewed'),
      originId: idOf('asked'),
      ref: digestOf('ref'),
      kind: 'pool',
      state: 'open',
      askedAt: at(100),
      expiresAt: at(1_000),
      closed: null,
      differs: { what: 'pool', from: 'on-demand', to: 'preemptible' },
    });
  });

  test.each([
    ['failed_attempt_threshold', '3 placement failures count as missing GPU capacity'],
    ['deterministic_preflight', 'A preflight of the provider proves'],
  ])('says why by its recorded rule: %s', (reason, begins) => {
    const asked = goldenEvent('FallbackPrompted', {
      reason,
      explanation: ['rule:none', 'prompt_superseded'],
    });
    const { why } = promptView(pool({ asked }), SHOWN);
    expect(why.rule).toBe(reason);
    expect(why.sentence).toContain(begins);
    expect(why.lines).toEqual([
      { code: 'rule:none', text: 'No rule of classification applies.' },
      { code: 'prompt_superseded', text: 'An older open question was replaced by this one.' },
    ]);
  });

  test.each([
    [at(999), 'open'],
    [at(1_000), 'expired'],
    [at(1_001), 'expired'],
  ])('at %s it is %s: its life ends at the very instant', (now, state) => {
    expect(promptView(pool(), { ...SHOWN, now }).state).toBe(state);
  });

  test('tells a name and the 13 members only where it is given them, and erased from hidden', () => {
    const hidden = promptView(pool(), SHOWN);
    expect(Object.keys(hidden)).not.toContain('name');
    expect(Object.keys(hidden)).not.toContain('invariants');
    expect(promptView(pool(), { ...SHOWN, name: null, invariants: null })).toMatchObject({
      name: null,
      invariants: null,
    });
    const { name, invariants } = promptView(pool(), {
      ...SHOWN,
      name: 'team/a',
      invariants: { gpu_count: 4, rt_cores_required: false, gpu_family: 'hopper' },
    });
    expect(name).toBe('team/a');
    expect(invariants).toHaveLength(13);
    expect(invariants?.slice(0, 3)).toEqual([
      { member: 'gpu_family', value: 'hopper' },
      { member: 'gpu_product', value: null },
      { member: 'gpu_count', value: 4 },
    ]);
    expect(invariants?.find(({ member }) => member === 'rt_cores_required')?.value).toBe(false);
  });

  test('shows what led to it: of this record only, the newest 12, oldest first', () => {
    const attempt = (pos: number, decisionVersion: number) =>
      goldenEvent('AttemptTracked', {}, { pos, decisionVersion });
    const asked = goldenEvent('FallbackPrompted', {
      after: { ...ASKED.data.after, recordSince: 3 },
    });
    const before = [
      ...[1, 2].map((pos) => attempt(pos, pos)),
      goldenEvent('ObservationReported', {}, { pos: 3, decisionVersion: 3 }),
      ...Array.from({ length: 14 }, (_, index) => attempt(4 + index, 3 + index)),
    ];
    const few = promptView(pool({ asked, before: before.slice(0, 6) }), SHOWN).attempts;
    expect(few.map(({ pos }) => pos)).toEqual([4, 5, 6]);
    const many = promptView(pool({ asked, before }), SHOWN).attempts;
    expect(many.map(({ pos }) => pos)).toEqual([6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]);
    expect(many[0]).toMatchObject({ who: 'classifier', what: 'counted the failure: capacity_exhausted' });
    expect(Object.keys(many[0] ?? {})).not.toContain('texts');
  });
});

describe('the failover question', () => {
  test.each(TRIGGERS)(
    'of %s says what happened, and names the lane that it leaves and the paid one',
    (trigger) => {
      const view = promptView(failover({ trigger }), SHOWN);
      expect(view.asks).toMatch(/^[^.:?]+: may the run be moved, once, to a paid machine on runpod\?$/);
      expect(view.differs).toEqual({ what: 'lane', from: 'gcp', to: 'runpod' });
      expect(view.why.rule).toBe('4.3 queue_vanish seen');
      expect(view.why.lines[0]).toEqual({
        code: 'rule:4.3 queue_vanish seen',
        text: 'This rule of the failover decided.',
      });
    },
  );

  test('no two triggers are asked about in the same words', () => {
    const views = TRIGGERS.map((trigger) => promptView(failover({ trigger }), SHOWN));
    expect(new Set(views.map(({ asks }) => asks)).size).toBe(TRIGGERS.length);
    expect(new Set(views.map(({ why }) => why.sentence)).size).toBe(TRIGGERS.length);
  });

  test.each([
    ['nothing', 'One machine is created', 'Nothing is created and nothing is bought.'],
    ['queued', 'First the queued instance on lane gcp is cancelled', 'should it start, it bills'],
    ['running', 'First the machine on lane gcp is cancelled', 'goes on billing'],
  ] as const)('with %s to cancel: what a yes does first, and what a no leaves', (cancel, first, left) => {
    const { onYes, onNo } = promptView(failover({ cancel }), SHOWN);
    expect(onYes[0]).toContain(first);
    expect(onYes.at(-1)).toContain('it stays and nothing is bought');
    expect(onNo[0]).toContain('This is final');
    expect(onNo.at(-1)).toContain(left);
  });

  test('without a failed instance: the lane of its rung, else the first of the plan, and no second look', () => {
    const ladder = failover({ failedInstance: null, rung: null, trigger: 'ladder_exhausted' });
    const { differs, onYes } = promptView(ladder, SHOWN);
    expect(differs.from).toBe('gcp');
    expect(onYes).toHaveLength(1);
    const placing = failover({ failedInstance: null, rung: 'batch_a', trigger: 'workload_crash_placing' });
    expect(promptView(placing, SHOWN).differs.from).toBe('slurm');
  });

  test.each([
    [null, 'One machine on the paid lane runpod. It bills until the run ends.'],
    [{ family: 'hopper', product: 'H200', count: 4 }, '(pod-4, 4 × H200)'],
    [{ family: 'hopper', product: null, count: null }, '(pod-4, hopper)'],
    [{ family: null, product: null, count: 4 }, '(pod-4)'],
  ])('names what is bought: %j', (gpu, said) => {
    expect(promptView(failover({}, gpu), SHOWN).buys).toContain(said);
  });

  test('shows the steps that matter, and none of how they are done', () => {
    const before = [
      goldenEvent('LaunchRequested', {}, { pos: 1 }),
      goldenEvent('LaunchAccepted', {}, { pos: 2 }),
      goldenEvent('LeaseTaken', {}, { pos: 3 }),
      goldenEvent('InstancePlaced', {}, { pos: 4 }),
      goldenEvent('ObservationJudged', {}, { pos: 5 }),
    ];
    const { attempts } = promptView({ ...failover(), before }, SHOWN);
    expect(attempts.map(({ type }) => type)).toEqual([
      'LaunchRequested',
      'InstancePlaced',
      'ObservationJudged',
    ]);
  });

  test('is of a launch with a paid lane, or of none', () => {
    const placement = new Story().launch({ terminal: null }).placement;
    expect(() => promptView({ ...failover(), placement }, SHOWN)).toThrow('without a terminal lane');
    expect(() => promptView({ ...failover(), placement: null }, SHOWN)).toThrow('without the placement');
  });
});

describe('a question that has ended says how', () => {
  const behind = [goldenEvent('FailoverVoided', { why: 'reachable' })];
  const ends = [
    ['a yes', goldenEvent('ConsentAccepted', { answeredBy: 'local' }), [], ['accepted', 'local', null]],
    ['a no', goldenEvent('ConsentDeclined', { answeredBy: digestOf('me') }), [], ['declined', 'you', null]],
    [
      'a yes of somebody else',
      goldenEvent('FailoverAccepted', { answeredBy: digestOf('other') }),
      [],
      ['accepted', `${digestOf('other').slice(0, 8)}…`, null],
    ],
    [
      'a yes that came too late',
      goldenEvent('FailoverAccepted', { answeredBy: 'local' }),
      behind,
      ['accepted', 'local', 'The instance is reachable again'],
    ],
    [
      'a no to a move',
      goldenEvent('FailoverDeclined', { answeredBy: 'local' }),
      [],
      ['declined', 'local', null],
    ],
    [
      'newer evidence',
      goldenEvent('FallbackPrompted', { record: 'kept' }),
      [],
      ['superseded', null, 'A newer'],
    ],
    [
      'a changed request',
      goldenEvent('AttemptTracked', { record: 'opened' }),
      [],
      ['withdrawn', null, 'The request'],
    ],
    [
      'a changed request that asks',
      goldenEvent('FallbackPrompted', { record: 'opened' }),
      [],
      ['withdrawn', null, 'The request changed'],
    ],
    [
      'another pool',
      goldenEvent('AttemptIgnored', { record: 'opened' }),
      [],
      ['withdrawn', null, 'The request'],
    ],
    ['a success', goldenEvent('AllocationSucceeded'), [], ['withdrawn', null, 'The allocation was placed']],
    ['a failover question', goldenEvent('FailoverPrompted'), [], ['withdrawn', null, 'A failover question']],
    ['erasing', goldenEvent('AllocationErased'), [], ['withdrawn', null, 'The allocation was erased']],
    ...(['running', 'reachable', 'done', 'adopted'] as const).map(
      (why) =>
        [
          `a move called off: ${why}`,
          goldenEvent('FailoverVoided', { why }),
          [],
          ['withdrawn', null, ''],
        ] as const,
    ),
  ] as const;

  test.each(ends)('%s', (_what, by, followed, [how, who, why]) => {
    const end = { by: { ...by, row: { ...by.row, recordedAt: at(300) } }, behind: followed };
    const { closed, state } = promptView(pool({ end }), SHOWN);
    expect(state).toBe('closed');
    expect(closed).toMatchObject({ at: at(300), how, by: who });
    if (why === null) expect(closed?.why).toBeNull();
    else expect(closed?.why).toMatch(new RegExp(`^${why}.*\\.$`));
  });

  test('and what ends none is refused rather than shown as an end', () => {
    const end = { by: goldenEvent('PromptRenewed'), behind: [] };
    expect(() => promptView(pool({ end }), SHOWN)).toThrow('PromptRenewed ends no question');
  });
});

test('the sealed members belong to the request that was asked about', () => {
  expect(requestDigestOf(pool())).toBe(ASKED.data.requestDigest);
  expect(requestDigestOf(failover())).toBeNull();
  const placement = launched();
  const launch =
    placement.launch === null ? null : { ...placement.launch, requestDigest: digestOf('request') };
  expect(requestDigestOf({ ...failover(), placement: { ...placement, launch } })).toBe(digestOf('request'));
});

test.each([pool(), failover()])('every view has the described form', (question) => {
  const view = promptView(question, { ...SHOWN, name: 'n', invariants: {} });
  expect(PromptBody.parse(view)).toEqual(view);
});
