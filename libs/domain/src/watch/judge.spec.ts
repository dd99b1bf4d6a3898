import { describe, expect, test } from 'vitest';
import { at, DAY_S, digestOf, idOf } from '#support/builders';
import { answerOf, gone, guest, poll, Story, typesOf, verdictIn, works } from '#support/watch-builders';

const cut = (seconds: number) => works(seconds, { alarm: 'transport' });
const failed = (seconds: number) => poll(seconds, 'terminated', guest('failed', true));

describe('done', () => {
  test.each([
    ['while it runs', poll(900, 'running', guest('done', true))],
    ['terminated', poll(900, 'terminated', guest('done', true))],
    ['a bad exit with every output verified', poll(900, 'terminated', guest('done_unclean', true))],
    ['gone and deleted by somebody', gone(900, { ...guest('done', true), deleteOperation: 'present' })],
    [
      'a create that is said to have failed',
      poll(900, 'terminated', { ...guest('done', true), createOperation: 'failed' }),
    ],
  ])('comes before every other rule: %s', (_reason, last) => {
    const story = new Story().launch().placed(0);
    const facts = story.see(last);
    expect(facts.slice(1)).toMatchObject([
      { type: 'AllocationDone', data: { instance: 'X1', verdict: { outcome: 'done' } } },
    ]);
    expect(answerOf(facts)).toBe('done');
    expect(story.placement.outcome).toBe('done');
  });
  test('is said once', () => {
    const story = new Story().launch().placed(0);
    story.see(poll(900, 'terminated', guest('done', true)));
    expect(typesOf(story.see(gone(1000, guest('done', true))))).toEqual(['ObservationJudged']);
  });
  test('is still taken from a machine that was left as it is when the allocation was blocked', () => {
    const story = new Story().launch('never').placed(0, 'od_a');
    story.see(works(1000), cut(20000), cut(20540));
    expect(story.placement.outcome).toBe('blocked');
    expect(answerOf(story.see(poll(30000, 'terminated', guest('done', true))))).toBe('done');
  });
});

describe('a create that failed in the end', () => {
  const error = {
    kind: 'capacity',
    code: 'ZONE_RESOURCE_POOL_EXHAUSTED',
    failureDigest: digestOf('text'),
  } as const;
  const last = poll(300, 'not_found', { createOperation: 'failed', createError: error });
  test('misses its rung with that error, and the ladder walks on behind it', () => {
    const story = new Story().launch().placed(0);
    const facts = story.see(poll(60, 'queued'), last);
    expect(facts.slice(1)).toEqual([
      { type: 'RungMissed', data: { rung: 'flex_a', misses: [{ rung: 'flex_a', zone: null, ...error }] } },
      {
        type: 'WalkStarted',
        data: { walk: 'create_failed', rungs: ['od_a', 'batch_a'], retry: null, day: '2026-11-29' },
      },
    ]);
    expect(verdictIn(facts)).toMatchObject({
      outcome: 'waiting',
      rule: '4.2 create_failed',
      evidence: { refusal: 'capacity', code: error.code, text: error.failureDigest },
    });
    expect(story.placement).toMatchObject({
      outcome: 'waiting',
      current: null,
      walk: { kind: 'create_failed' },
    });
  });
  test('of the last rung leaves none to walk', () => {
    const story = new Story().launch().placed(0, 'batch_a', 'J1');
    const facts = story.see({ ...last, instance: 'J1', lane: 'slurm' });
    expect(facts.at(-1)).toMatchObject({ data: { walk: 'create_failed', rungs: [] } });
  });
  test('without a word why is a miss all the same', () => {
    const facts = new Story()
      .launch()
      .placed(0)
      .see(poll(300, 'not_found', { createOperation: 'failed' }));
    expect(facts[1]).toMatchObject({ data: { misses: [{ kind: 'unavailable', code: null }] } });
  });
  test('is not believed of an instance that ran: a second machine would do the work twice', () => {
    const story = new Story().launch().placed(0);
    const facts = story.see(works(100), works(300, { createOperation: 'failed', createError: error }));
    expect(answerOf(facts)).toBe('unchanged');
    expect(verdictIn(facts).notFired).toContain('failed_create:reached_running');
  });
});

describe('deleted by somebody else', () => {
  test.each([
    ['before it ran', [poll(60, 'queued')]],
    ['after it ran', [works(100)]],
  ])('%s: blocked, no failover and no boot death', (_reason, polls) => {
    const story = new Story().launch().placed(0);
    const facts = story.see(...polls, gone(300, { deleteOperation: 'present' }));
    expect(typesOf(facts)).toEqual(['ObservationJudged', 'AllocationBlocked']);
    expect(verdictIn(facts)).toMatchObject({
      reason: 'instance_deleted_externally',
      failureClass: 'infra',
      redrivable: false,
    });
  });
  test('a machine that ended is not missing', () => {
    const story = new Story().launch().placed(0);
    expect(answerOf(story.see(works(100), poll(300, 'terminated', { deleteOperation: 'present' })))).toBe(
      'blocked instance_lost_after_start',
    );
  });
});

describe('nothing to run', () => {
  test.each([
    ['standing', 'standing'],
    ['ask', 'ask'],
  ] as const)('is found before consent is looked at: %s', (_reason, failover) => {
    const story = new Story().launch({ hasWorkload: false, failover }).placed(0);
    const facts = story.see(poll(60, 'queued'), gone(300));
    expect(answerOf(facts)).toBe('blocked relaunch_spec_missing');
    expect(typesOf(facts)).not.toContain('FailoverPrompted');
  });
});

describe('observations that decide nothing', () => {
  test.each([
    ['of an instance that the allocation never had', { instance: 'X9' }, '10.5 unknown_instance'],
    ['of the same id on another lane', { lane: 'slurm' }, '10.5 unknown_instance'],
    ['of an id that every object has', { instance: 'constructor' }, '10.5 unknown_instance'],
  ])('%s', (_reason, change, rule) => {
    const story = new Story().launch().placed(0, 'od_a');
    const facts = story.see({ ...failed(3000), ...change });
    expect(facts).toMatchObject([
      { data: { facts: null, mark: null, verdict: { outcome: 'unchanged', rule } } },
    ]);
    expect(facts).toHaveLength(1);
  });
  test('of an allocation that was never launched', () => {
    expect(answerOf(new Story().see(failed(3000)))).toBe('unchanged');
  });
  test('of an instance that an earlier launch left behind', () => {
    const story = new Story().launch().placed(0, 'od_a');
    story.see(works(100), poll(900, 'terminated'));
    story.launch('standing', 1000);
    expect(verdictIn(story.see(failed(2000)))).toMatchObject({
      outcome: 'unchanged',
      rule: '10.5 not_current',
    });
  });
  test('while the ladder is walked again', () => {
    const story = new Story().launch('never').placed(0);
    story.see(poll(60, 'queued'), gone(300));
    story.add(4000, {
      type: 'WalkStarted',
      data: { walk: 'retry', rungs: ['od_a'], retry: 1, day: '2026-11-29' },
    });
    expect(typesOf(story.see(gone(4100)))).toEqual(['ObservationJudged']);
  });
  test('while our own cancel of it is owed or done', () => {
    const cancels = [
      { type: 'CancelConfirmed', data: { instance: 'X1' } },
      { type: 'CancelUnconfirmed', data: { instance: 'X1', lane: 'gcp', kind: null } },
    ] as const;
    for (const cancel of cancels) {
      const story = new Story().launch().placed(0);
      story.see(poll(60, 'queued'));
      story.add(100, cancel);
      expect(verdictIn(story.see(gone(300)))).toMatchObject({
        outcome: 'unchanged',
        rule: '4.1 cancelled_by_us',
      });
    }
  });
});

describe('newest observation', () => {
  test('the mark counts where it is newer than the facts, and is recorded with the decision', () => {
    const story = new Story().launch().placed(0);
    story.see(poll(60, 'queued'));
    story.marks.set('X1', at(500));
    expect(story.judge(gone(400))).toMatchObject([
      { data: { mark: at(500), verdict: { rule: '3.6 late' } } },
    ]);
    expect(story.judge(gone(500))).toMatchObject([{ data: { verdict: { rule: '3.6 repeat' } } }]);
    expect(answerOf(story.judge(gone(501)))).toBe('waiting gcp_queue_vanish_failover_runpod');
  });
  test('a late poll adds what it can never take back, and fires nothing', () => {
    const story = new Story().launch().placed(0);
    const facts = story.see(poll(300, 'queued'), works(200));
    expect(facts).toHaveLength(1);
    expect(story.instance().facts).toMatchObject({
      newest: at(300),
      reachedRunning: true,
      workloadStarted: true,
      queuedSince: at(300),
      phase: 'queued',
    });
  });
});

describe('while a question is open', () => {
  const asked = () => {
    const story = new Story().launch('ask').placed(0);
    story.see(poll(10, 'queued'), poll(700, 'queued'));
    return story;
  };
  test('it was asked once, whatever is seen after it', () => {
    const story = asked();
    expect(typesOf(story.facts)).toContain('FailoverPrompted');
    story.see(poll(760, 'queued'), gone(820), poll(900, 'running'), failed(1000));
    expect(typesOf(story.facts).filter((type) => type === 'FailoverPrompted')).toHaveLength(1);
    expect(story.placement.outcome).toBe('awaiting_consent');
  });
  test('its answer carries the reason, the question its own id and its life', () => {
    const story = new Story().launch('ask').placed(0);
    story.see(poll(60, 'queued'));
    const facts = story.judge(gone(300));
    expect(answerOf(facts)).toBe('awaiting_consent gcp_queue_vanish_failover_runpod');
    expect(typesOf(facts)).toEqual(['ObservationJudged', 'QueueLossRecorded', 'FailoverPrompted']);
    expect(facts[2]).toMatchObject({
      data: {
        askedAt: at(300),
        expiresAt: at(300 + DAY_S),
        withdrew: null,
        after: {
          openQuestion: {
            kind: 'failover',
            eventId: idOf('fact 5'),
            originId: idOf('fact 5'),
            expiresAt: at(300 + DAY_S),
          },
        },
      },
    });
  });
  test('facts of its instance move on', () => {
    const story = asked();
    story.see(poll(750, 'running'));
    expect(story.instance().facts).toMatchObject({ reachedRunning: true, reachableAgainAt: at(750) });
  });
  test('a done workload calls the move off and ends the question', () => {
    const story = asked();
    const facts = story.see(poll(900, 'terminated', guest('done', true)));
    expect(typesOf(facts)).toEqual(['ObservationJudged', 'FailoverVoided', 'AllocationDone']);
    expect(answerOf(facts)).toBe('done');
    expect(story.record.scalars.openQuestion).toBeNull();
    expect(story.placement.move).toBeNull();
  });
});

describe('while a move waits for the cancel of a hung machine', () => {
  const held = (budgetS: number | null = null) => {
    const story = new Story().launch({ budgetS }).placed(0, 'od_a');
    const hung = budgetS === null ? cut : (seconds: number) => works(seconds, { logAgeS: 5000 });
    story.see(works(1000), hung(20000), hung(20540));
    return story.add(20550, { type: 'CancelUnconfirmed', data: { instance: 'X1', lane: 'gcp', kind: null } });
  };
  test('a clean poll calls it off, and the machine stays', () => {
    const story = held();
    const facts = story.see(works(20600));
    expect(typesOf(facts)).toEqual(['ObservationJudged', 'FailoverVoided']);
    expect(verdictIn(facts)).toMatchObject({ outcome: 'placed_primary', rule: '14 reachable_again' });
    expect(story.placement).toMatchObject({ outcome: 'placed_primary', move: null, cancelsOwed: {} });
  });
  test('a done workload calls it off and is done', () => {
    const story = held();
    const facts = story.see(poll(20600, 'terminated', guest('done', true)));
    expect(typesOf(facts)).toEqual(['ObservationJudged', 'FailoverVoided', 'AllocationDone']);
    expect(story.placement).toMatchObject({ outcome: 'done', cancelsOwed: {} });
  });
  test.each([
    ['an alarm', cut(20600)],
    ['an error of the provider’s interface', works(20600, { alarm: 'control_plane' })],
    ['a failed read', poll(20600, 'probe_error')],
    ['a machine that ended', poll(20600, 'terminated')],
    ['an older clean poll', works(20500)],
  ])('%s does not', (_reason, next) => {
    const story = held();
    expect(typesOf(story.see(next))).toEqual(['ObservationJudged']);
    expect(story.placement.move?.state).toBe('decided');
  });
  test('a silent machine is well again when its log speaks, not when its age is unknown', () => {
    expect(typesOf(held(100).see(works(20600, { logAgeS: null })))).toEqual(['ObservationJudged']);
    expect(typesOf(held(100).see(works(20600, { logAgeS: 5000 })))).toEqual(['ObservationJudged']);
    expect(typesOf(held(100).see(works(20600, { logAgeS: 1800 })))).toContain('FailoverVoided');
  });
  test('once the cancel is confirmed nothing calls it off', () => {
    const story = held().add(20560, { type: 'CancelConfirmed', data: { instance: 'X1' } });
    expect(typesOf(story.see(works(20600)))).toEqual(['ObservationJudged']);
  });
  test('the same machine can be moved for a new reason afterwards', () => {
    const story = held();
    story.see(works(20600));
    expect(answerOf(story.see(failed(30000)))).toBe('waiting gcp_workload_failover_runpod_async');
  });
});

test('every fact that fired stands beside the limits that it was compared with', () => {
  const story = new Story().launch().placed(0);
  const { evidence, rule } = verdictIn(story.see(gone(1499)));
  expect(rule).toBe('4.3 queue_vanish never_seen');
  expect(evidence).toMatchObject({
    instance: 'X1',
    observedAt: at(1499),
    createdAt: at(0),
    ageS: 1499,
    vanishMaxAgeS: 1500,
  });
});
