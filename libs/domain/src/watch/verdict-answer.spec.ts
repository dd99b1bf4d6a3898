import { describe, expect, test } from 'vitest';
import type { Verdict } from '#events/watch.events';
import { digestOf } from '#support/builders';
import { NOT_PLACED, type PlacedInstance, type Placement } from '../placement.ts';
import { LaunchResultBody, ObservationAnswerBody } from './answer-schema.ts';
import { nothingSeen } from './instance-facts.ts';
import { failoverQuestion, shownInstance, shownWait, verdictAnswer } from './verdict-answer.ts';

const verdict: Verdict = {
  outcome: 'blocked',
  reason: 'no_compute_available',
  failureClass: 'infra',
  redrivable: true,
  rule: '6 no_compute',
  evidence: { first: 'capacity', misses: ['flex_a', 'od_a'] },
  notFired: ['done:not_done'],
};

const instance: PlacedInstance = {
  id: 'X1',
  lane: 'gcp',
  kind: 'primary' as const,
  rung: 'od_a',
  pool: 'on-demand',
  queues: false,
  createdAt: '2026-01-05T00:00:00.000Z',
  placedAt: '2026-01-05T00:00:09.000Z',
  intent: null,
  costPerHourUsd: null,
  facts: null,
};
const placed: Placement = { ...NOT_PLACED, current: 'X1', instances: { X1: instance } };
const facts = { ...nothingSeen('2026-01-05T00:10:00.000Z'), reachedRunning: true, workloadStarted: true };

test('a decision is shown whole, with its place', () => {
  const answer = verdictAnswer(verdict, 7);
  expect(answer).toEqual({
    outcome: 'blocked',
    reason: 'no_compute_available',
    failure_class: 'infra',
    redrivable: true,
    rule: '6 no_compute',
    evidence: { first: 'capacity', misses: ['flex_a', 'od_a'] },
    not_fired: ['done:not_done'],
    position: 7,
  });
  expect(ObservationAnswerBody.parse(answer)).toEqual(answer);
});

test('a question is shown in fixed words, whatever is asked about', () => {
  const action = {
    action: 'failover_to_terminal',
    logical_allocation_ref: digestOf('ref'),
    failed_instance_digest: digestOf('instance'),
    lane: 'runpod',
    machine: 'secret-machine',
    gpu: null,
    plan_digest: digestOf('plan'),
    digest: digestOf('action'),
  } as const;
  const question = failoverQuestion('t'.repeat(43), action);
  expect(question.question).not.toContain('secret');
  expect(question.question).toBe(failoverQuestion('u'.repeat(43), { ...action, lane: 'other' }).question);
  const answer = { ...verdictAnswer(verdict, 7), ...question };
  expect(ObservationAnswerBody.parse(answer)).toEqual(answer);
});

describe('the instance that is shown', () => {
  test('is the current one', () => {
    const shown = shownInstance(placed);
    expect(shown).toEqual({
      lane: 'gcp',
      id: 'X1',
      pool: 'on-demand',
      started_at: '2026-01-05T00:00:00.000Z',
    });
    const answer = { ...verdictAnswer(verdict, 7), instance: shown };
    expect(LaunchResultBody.parse(answer)).toEqual(answer);
  });
  test('began when the log learnt of it, where nobody knows better', () => {
    const unknown = { ...instance, createdAt: null };
    expect(shownInstance({ ...placed, instances: { X1: unknown } })?.started_at).toBe(instance.placedAt);
  });
  test.each<{ reason: string; state: Placement }>([
    { reason: 'there never was one', state: NOT_PLACED },
    {
      reason: 'it is gone',
      state: { ...placed, instances: { X1: { ...instance, facts: { ...facts, gone: true } } } },
    },
    { reason: 'it was cancelled', state: { ...placed, cancelled: ['X1'] } },
  ])('is none when $reason', ({ state }) => {
    expect(shownInstance(state)).toBeNull();
  });
  test('is there for as long as it is not known to be gone', () => {
    expect(shownInstance({ ...placed, instances: { X1: { ...instance, facts } } })?.id).toBe('X1');
  });
});

const rung = {
  id: 'od_a:preemptible',
  lane: 'gcp',
  kind: 'primary' as const,
  pool: 'preemptible',
  queues: false,
  zones: [],
  machine: null,
  gpu: null,
  maxRunS: null,
};

describe('what is waited for', () => {
  test('is a member of its own, as the schema says', () => {
    const state: Placement = {
      ...placed,
      poolDiffers: { instance: 'X2', lane: 'gcp', intent: 'i', rung, delivered: 'on-demand' },
    };
    const answer = { ...verdictAnswer(verdict, 7), ...shownWait(state) };
    expect(answer).toHaveProperty('waits', { reason: 'delivered_pool', until: null });
    expect(LaunchResultBody.parse(answer)).toEqual(answer);
  });
  test('is no member when it is nothing', () => {
    expect(shownWait(placed)).toEqual({});
  });
});
