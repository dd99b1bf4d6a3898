import { expect, test } from 'vitest';
import type { ListedAllocation } from '#event-log/overview';
import { allocationList } from './allocation-list.ts';

const RECORD = { status: 'consented', openQuestion: null, questionExpiresAt: null };
const PLACEMENT = {
  outcome: 'unchanged',
  reason: null,
  lane: null,
  instance: null,
  openIntent: null,
  needsWorker: false,
  wakeAt: null,
  retryAt: null,
  bills: false,
  alerts: 0,
};

async function listed(placement: ListedAllocation['placement']) {
  const row = {
    stream: `allocation-${'a'.repeat(64)}`,
    decisionVersion: 4,
    pos: 4,
    at: '2026-11-29T12:00:00.000Z',
    record: RECORD,
    placement,
  };
  const log = {
    head: async () => ({ pos: 4, hash: '' }),
    at: async () => null,
    overview: { newest: async () => [row] },
  };
  const { rows } = await allocationList(log, { limit: 10, refPrefix: null });
  return rows[0];
}

test('what was consented and never launched has no placement: nothing stayed unchanged there', async () => {
  expect(await listed(PLACEMENT)).toMatchObject({ status: 'consented', outcome: null });
});

test('what was launched has the one that it has', async () => {
  expect(await listed({ ...PLACEMENT, outcome: 'waiting' })).toMatchObject({ outcome: 'waiting' });
});
