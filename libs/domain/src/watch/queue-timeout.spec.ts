import { describe, expect, test } from 'vitest';
import { at } from '#support/builders';
import { answerOf, poll, Story, typesOf, verdictIn } from '#support/watch-builders';

const TIMEOUT = 'waiting gcp_queue_timeout_failover_runpod';
const onFlex = () => new Story().launch().placed(0);

test('one second past the limit: the queued instance is cancelled first', () => {
  const story = onFlex();
  const facts = story.see(poll(60, 'queued'), poll(661, 'queued'));
  expect(answerOf(facts)).toBe(TIMEOUT);
  expect(typesOf(facts)).toEqual(['ObservationJudged', 'QueueLossRecorded', 'FailoverDecided']);
  expect(verdictIn(facts)).toMatchObject({
    rule: '4.4 queue_timeout',
    evidence: { queuedSince: at(60), queuedS: 601, queueWaitS: 600, rung: 'flex_a' },
  });
  expect(story.placement.move?.escalation).toMatchObject({ cancel: 'queued', failedInstance: 'X1' });
});

describe('stays quiet', () => {
  test.each([
    ['at exactly the limit', [poll(60, 'queued'), poll(660, 'queued')]],
    ['at the first queued poll, however old the instance is', [poll(5000, 'queued')]],
    [
      'after leaving the queue for a moment',
      [poll(10, 'queued'), poll(590, 'provisioning'), poll(700, 'queued'), poll(1200, 'queued')],
    ],
    ['once it is no longer queued', [poll(10, 'queued'), poll(700, 'provisioning')]],
    ['for queued polls that come late', [poll(900, 'queued'), poll(10, 'queued'), poll(1500, 'queued')]],
  ])('%s', (_reason, polls) => {
    expect(answerOf(onFlex().see(...polls))).toBe('unchanged');
  });
  test('for the time that an earlier instance waited', () => {
    const story = onFlex();
    story.see(poll(10, 'queued'));
    story.placed(1000, 'flex_a', 'X2');
    expect(answerOf(story.see(poll(5000, 'queued', { instance: 'X2' })))).toBe('unchanged');
  });
});

test('failed reads in between neither stop the clock nor start it anew', () => {
  const reads = [80, 300, 600].map((seconds) => poll(seconds, 'probe_error'));
  expect(answerOf(onFlex().see(poll(60, 'queued'), ...reads, poll(660, 'queued')))).toBe('unchanged');
  expect(answerOf(onFlex().see(poll(60, 'queued'), ...reads, poll(661, 'queued')))).toBe(TIMEOUT);
});

test('under never the instance is cancelled before compute is called missing', () => {
  const story = new Story().launch('never').placed(0);
  const facts = story.see(poll(10, 'queued'), poll(700, 'queued'));
  expect(typesOf(facts)).toEqual(['ObservationJudged', 'QueueLossRecorded', 'CancelDecided']);
  expect(answerOf(facts)).toBe('waiting');
  expect(story.placement.move).toMatchObject({ state: 'cancelling', escalation: { cancel: 'queued' } });
});
