import { describe, expect, test } from 'vitest';
import { at } from '#support/builders';
import { answerOf, gone, guest, poll, Story, typesOf, verdictIn } from '#support/watch-builders';

const VANISH = 'waiting gcp_queue_vanish_failover_runpod';
const LOST = 'blocked instance_lost_after_start';
const onFlex = () => new Story().launch().placed(0);
const onDemand = () => new Story().launch().placed(0, 'od_a');

describe('fires', () => {
  test('seen queued, then gone without a delete operation: the first time is enough', () => {
    const story = onFlex();
    const facts = story.see(poll(60, 'queued'), gone(300));
    expect(typesOf(facts)).toEqual(['ObservationJudged', 'QueueLossRecorded', 'FailoverDecided']);
    expect(verdictIn(facts)).toEqual({
      outcome: 'waiting',
      reason: 'gcp_queue_vanish_failover_runpod',
      failureClass: null,
      redrivable: false,
      rule: '4.3 queue_vanish seen',
      evidence: {
        instance: 'X1',
        lane: 'gcp',
        rung: 'flex_a',
        observedAt: at(300),
        provider: 'not_found',
        arm: 'seen',
        lastPhase: 'queued',
        pool: 'flex-start',
        seenQueued: true,
        seenProvisioning: false,
        reachedRunning: false,
        createOperation: 'done',
        deleteOperation: 'none',
        consent: 'standing',
      },
      notFired: [
        'done:not_done',
        'failed_create:create_done',
        'infra_wedge:not_running',
        'queue_timeout:not_queued',
        'deleted_externally:no_delete_operation',
      ],
    });
    expect(story.placement.queueLosses).toEqual({ flex_a: '2026-11-29' });
    expect(story.placement.move?.escalation).toMatchObject({ key: 'X1', cancel: 'nothing', rung: 'flex_a' });
  });
  test.each([
    ['seen provisioning only', [poll(60, 'provisioning'), gone(300)], 'seen'],
    [
      'seen queued, and whether it was deleted cannot be read',
      [poll(60, 'queued'), gone(300, { deleteOperation: 'unknown' })],
      'seen',
    ],
    ['seen in the queue, however old it is', [poll(60, 'queued'), gone(9000)], 'seen'],
    ['never seen, one second under the age limit', [gone(1499)], 'never_seen'],
    [
      'missing while the create runs, and still missing once it is done',
      [gone(20, { createOperation: 'running' }), gone(200)],
      'never_seen',
    ],
    [
      'seen queued only by a poll that came late',
      [poll(100, 'probe_error'), poll(60, 'queued'), gone(2000)],
      'seen',
    ],
  ])('%s', (_reason, polls, arm) => {
    const facts = onFlex().see(...polls);
    expect(answerOf(facts)).toBe(VANISH);
    expect(verdictIn(facts).evidence).toMatchObject({ arm, rung: 'flex_a' });
  });
});

describe('refuses', () => {
  test.each([
    ['it ran once', [poll(60, 'queued'), poll(200, 'running'), gone(400)]],
    ['it ran once and queued again', [poll(200, 'running'), poll(300, 'queued'), gone(400)]],
    [
      'a guest was read while the provider still said provisioning',
      [poll(200, 'provisioning', guest('boot', false)), gone(400)],
    ],
    [
      'that it ran is learnt late',
      [poll(60, 'queued'), poll(300, 'probe_error'), poll(200, 'running'), gone(400)],
    ],
    ['never seen, exactly at the age limit', [gone(1500)]],
    [
      'never seen, and the delete operation stays unknown past the age limit',
      [gone(1500, { deleteOperation: 'unknown' })],
    ],
  ])('%s: lost, and nothing is spent', (_reason, polls) => {
    const story = onFlex();
    expect(answerOf(story.see(...polls))).toBe(LOST);
    expect(story.placement.move).toBeNull();
  });
  test('never seen, and the creation time is unknown', () => {
    const story = new Story().launch().placed(0, 'flex_a', 'X1', { createdAt: null });
    expect(answerOf(story.see(gone(300)))).toBe(LOST);
  });
  test('a pool that does not queue: the loss is a boot death there', () => {
    expect(answerOf(onDemand().see(gone(300)))).toBe(LOST);
  });
  test('somebody deleted it', () => {
    const facts = onFlex().see(poll(60, 'queued'), gone(300, { deleteOperation: 'present' }));
    expect(answerOf(facts)).toBe('blocked instance_deleted_externally');
  });
});

describe('stays quiet', () => {
  test.each([
    [
      'the create is not known to be over',
      [poll(30, 'queued'), gone(200, { createOperation: 'unknown' })],
      '4.2 create_open',
    ],
    ['the create still runs, at any age', [gone(9000, { createOperation: 'running' })], '4.2 create_open'],
    [
      'an unknown create, one second under the age limit',
      [gone(1499, { createOperation: 'unknown' })],
      '4.2 create_open',
    ],
    [
      'never seen queued, and who deleted it cannot be read, one second under the limit',
      [gone(1499, { deleteOperation: 'unknown' })],
      '4.3 delete_operation_unknown',
    ],
    [
      'seen provisioning only, and who deleted it cannot be read',
      [poll(60, 'provisioning'), gone(300, { deleteOperation: 'unknown' })],
      '4.3 delete_operation_unknown',
    ],
  ])('%s', (_reason, polls, rule) => {
    const story = onFlex();
    const facts = story.see(...polls);
    expect(typesOf(facts)).toEqual(['ObservationJudged']);
    expect(verdictIn(facts)).toMatchObject({ outcome: 'unchanged', rule });
  });
  test('an unknown create exactly at the age limit is a loss', () => {
    expect(answerOf(onFlex().see(gone(1500, { createOperation: 'unknown' })))).toBe(LOST);
  });
  test('after the move is decided', () => {
    const story = onFlex();
    story.see(poll(60, 'queued'), gone(300));
    expect(answerOf(story.see(gone(360)))).toBe('unchanged');
  });
});

describe('facts of another instance', () => {
  test('that the earlier one ran does not keep the new one from vanishing', () => {
    const story = onFlex();
    story.see(poll(100, 'running', guest('workload', true)));
    story.placed(1000, 'flex_a', 'X2');
    expect(answerOf(story.see(gone(1600, { instance: 'X2' })))).toBe(VANISH);
  });
  test('that the earlier one queued makes no vanish of the new one', () => {
    const story = onFlex();
    story.see(poll(100, 'queued'));
    story.placed(1000, 'od_a', 'X2');
    const facts = story.see(gone(1600, { instance: 'X2' }));
    expect(answerOf(facts)).toBe(LOST);
    expect(typesOf(facts)).toContain('BootDeathRecorded');
  });
  test('a late absence of the earlier one says nothing', () => {
    const story = onFlex();
    story.see(poll(60, 'queued'));
    story.placed(400, 'flex_a', 'X2').see(poll(460, 'queued', { instance: 'X2' }));
    const facts = story.see(gone(500));
    expect(verdictIn(facts)).toMatchObject({ outcome: 'unchanged', rule: '10.5 not_current' });
  });
});
