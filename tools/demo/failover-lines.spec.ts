import pc from 'picocolors';
import { expect, test } from 'vitest';
import type { LedgerReport } from '../../test/cloud/ledger-report.ts';
import type { LaunchResult } from './calls.ts';
import { goneNow, launchOf } from './failover-bodies.ts';
import {
  brief,
  decisionLines,
  ledgerLines,
  sentLaunchLines,
  sentObservationLine,
  takenLine,
  worldLines,
} from './failover-lines.ts';
import { COLUMNS } from './lines.ts';

const plain = pc.createColors(false);
const GCP_ID = 'us-central1-a/sw-local-0ad52d29a6fb0c56-ajjftgp4qxneyxh2j4ftxtaf4j/1802562634149117322';
const DECISION: LaunchResult = {
  outcome: 'waiting',
  reason: 'gcp_queue_vanish_failover_runpod',
  failure_class: null,
  redrivable: false,
  rule: '4.3 queue_vanish seen',
  evidence: { arm: 'seen', consent: 'standing', instance: GCP_ID, lane: 'gcp', phase: null },
  not_fired: [],
  position: 14,
  instance: { lane: 'gcp', id: GCP_ID, pool: 'flex-start', started_at: '2026-11-29T10:00:00.000Z' },
};

test('a launch shows its ladder, its last resort and what its owner agreed to', () => {
  expect(sentLaunchLines(launchOf('team/train-7'), plain)).toEqual([
    '  → launch        flex_a (gcp, flex-start), then od_a (gcp, on-demand)',
    '                  last resort runpod, paid; failover: standing',
  ]);
});

test('a decision shows its reason, its rule and the facts that nothing else shows', () => {
  expect(decisionLines(DECISION, plain)).toEqual([
    '  ← waiting  gcp_queue_vanish_failover_runpod',
    '    rule 4.3 queue_vanish seen, arm seen, consent standing',
    '    instance …/1802562634149117322 on lane gcp',
  ]);
});

test('an id that is a path is cut to its last part, and no other text is', () => {
  expect(brief(`saw ${GCP_ID}: queued`)).toBe('saw …/1802562634149117322: queued');
  expect(brief('opened sw-local-0ad52d29a6fb0c56-ajjf for rung a/b/12')).toBe(
    'opened sw-local-0ad52d29a6fb0c56-ajjf for rung a/b/12',
  );
});

test('the books of the cloud say whose each machine is, what it cost, and what ran on it', () => {
  const machine = (id: string, billedS: number) => ({
    lane: 'runpod' as const,
    id,
    name: id,
    mark: { deployment: null, allocation: null, intent: null },
    state: 'running' as const,
    zone: null,
    createdAt: '2026-11-29T10:00:00.000Z',
    goneAt: null,
    billedS,
    costUsd: billedS / 1000,
    billing: true,
  });
  const report: LedgerReport = {
    now: '2026-11-29T10:00:00.000Z',
    instances: [machine('p1', 66), machine('p2', 0)],
    creates: [],
    deletes: [],
    starts: [{ at: '2026-11-29T10:00:00.000Z', lane: 'runpod', instance: 'p1', intent: 'i' }],
    calls: {},
  };
  expect(ledgerLines(report, ({ id }) => id === 'p1', plain)).toEqual([
    "    the cloud's own books",
    '    runpod    p1                    running    Spillway   66 s, $0.066      1 workload start',
    '    runpod    p2                    running    a person   never billed      0 workload starts',
  ]);
});

test('no line is wider than the terminal', () => {
  const lines = [
    ...sentLaunchLines(launchOf('n'.repeat(256)), plain),
    sentObservationLine(goneNow('team/a', 'i'.repeat(300), '2026-11-29T10:00:00.000Z'), plain),
    takenLine({ logical_allocation: 'a', message_id: 'm', position: 12, location: 'l' }, plain),
    ...worldLines('something happens outside of Spillway '.repeat(8).trim(), plain),
  ];
  expect(lines.filter((line) => line.length > COLUMNS)).toEqual([]);
});
