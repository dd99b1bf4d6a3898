import type { AllocationList, AllocationView, OverviewView, StateView } from '#domain/audit/views';

const REF = '542584fb2b88d1b8fdc38ebea2e312cb2f805e5d9d577dc182d891a2a86dc634';
const AT = '2026-11-29T12:00:00.000Z';
const BILL = {
  instance: 'pod-7',
  lane: 'runpod',
  sinceAt: '2026-11-29T11:30:00.000Z',
  costPerHourUsd: 2.5,
  costSoFarUsd: 1.25,
} as const;

export const STATE: StateView = {
  pos: 41,
  at: '2026-11-29T11:58:00.000Z',
  unreadable: null,
  record: { count: 3, status: 'awaiting-consent', consent: 'pending', pool: 'on-demand', openQuestion: null },
  placement: {
    outcome: 'running_on_terminal',
    reason: 'queue_vanish',
    rule: '4.3 queue_vanish seen',
    instance: { id: 'pod-7', lane: 'runpod', pool: null, rung: null },
    provider: { status: 'running', observedAt: '2026-11-29T11:57:58.000Z' },
    openIntent: null,
    bills: [BILL],
  },
};

export const ALLOCATION: AllocationView = {
  ref: REF,
  name: 'team-a/finetune-7',
  erased: false,
  upTo: 41,
  at: AT,
  now: STATE,
  lines: [
    {
      pos: 41,
      at: STATE.at,
      type: 'FailoverCompleted',
      stage: 'dispatch',
      who: 'provisioner',
      what: 'completed the move: pod-7 on runpod runs the workload',
      because: [],
      machines: [],
      after: null,
      texts: [],
      state: STATE,
    },
  ],
  bars: [{ track: 'lane runpod', label: 'pod-7: running', tone: 'good', from: STATE.at, to: null }],
  earlier: 41,
};

export const ALLOCATIONS: AllocationList = {
  rows: [
    {
      ref: REF,
      status: 'tracking',
      outcome: 'running_on_terminal',
      reason: 'queue_vanish',
      lane: 'runpod',
      instance: 'pod-7',
      openQuestion: null,
      bills: true,
      pos: 41,
      at: STATE.at,
    },
  ],
  next: '41',
};

export const OVERVIEW: OverviewView = {
  at: AT,
  head: { pos: 41, at: STATE.at },
  openQuestions: 1,
  allocations: { total: 2, byStatus: { tracking: 2 }, byOutcome: { running_on_terminal: 1 } },
  bills: [{ ref: REF, ...BILL }],
  billsMore: false,
  alerts: [{ ref: REF, alert: 'residue_unresolved', subject: 'X1', at: STATE.at, pos: 40 }],
  alertsMore: false,
  consumers: [{ consumer: 'classifier', lagEvents: 0, lagS: 0, updatedAt: AT }],
  parked: [],
  deadLetters: 0,
  notices: null,
};
