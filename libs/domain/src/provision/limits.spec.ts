import { describe, expect, test } from 'vitest';
import { Limits } from '#events/plan';
import { BUILT_IN_LIMITS, configuredLimits, filledLimits, LIMITS } from './limits.ts';

test('the table has every limit of a plan once', () => {
  expect(LIMITS.map(({ member }) => member).toSorted()).toEqual(Object.keys(Limits.shape).toSorted());
  expect(new Set(LIMITS.map(({ sentAs }) => sentAs)).size).toBe(LIMITS.length);
});

test('limits that are not sent are those of the deployment', () => {
  const deployment = { ...BUILT_IN_LIMITS, queueWaitS: 30 };
  expect(filledLimits({ creates_per_day: 2 }, deployment)).toEqual({ ...deployment, createsPerDay: 2 });
});

describe('the configuration', () => {
  test('of nothing is the built-in limits', () => {
    expect(configuredLimits({})).toEqual({ limits: BUILT_IN_LIMITS, bad: [] });
  });
  test('takes what is a limit, and passes over what it does not know', () => {
    const configured = { queue_wait_s: 30, wedge_budget_factor: 1.5, boot_deaths: null, colour: -1 };
    expect(configuredLimits(configured)).toEqual({
      limits: { ...BUILT_IN_LIMITS, queueWaitS: 30, wedgeBudgetFactor: 1.5 },
      bad: [],
    });
  });
  test.each([0, -1, '30', true, [], {}, Number.NaN, Number.POSITIVE_INFINITY])(
    'reads %j as the built-in default and names the limit',
    (value) => {
      expect(configuredLimits({ queue_wait_s: value, boot_deaths: 3 })).toEqual({
        limits: { ...BUILT_IN_LIMITS, bootDeaths: 3 },
        bad: ['queue_wait_s'],
      });
    },
  );
  test.each([null, [], 'x', 7])('that is no object (%j) is the built-in limits, and named', (configured) => {
    expect(configuredLimits(configured)).toEqual({ limits: BUILT_IN_LIMITS, bad: ['limits'] });
  });
  test.each([
    { seconds: 60, bad: [] },
    { seconds: 59.9, bad: ['worker_lease_s'] },
    { seconds: 86_400, bad: [] },
    { seconds: 86_400.5, bad: ['worker_lease_s'] },
  ])('lets a worker hold its lease for $seconds s: $bad', ({ seconds, bad }) => {
    expect(configuredLimits({ worker_lease_s: seconds }).bad).toEqual(bad);
  });
  test.each([
    { seconds: 366 * 86_400, bad: [] },
    { seconds: 366 * 86_400 + 1, bad: ['capacity_retry_backoff_s'] },
  ])('lets a retry wait for $seconds s: $bad', ({ seconds, bad }) => {
    expect(configuredLimits({ capacity_retry_backoff_s: seconds }).bad).toEqual(bad);
  });
});
