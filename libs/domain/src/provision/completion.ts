import type { Fact } from '../fact.ts';
import { alertOnce, blocked, verdict } from '../intent/blocked.ts';
import type { IntentState } from '../intent/intent-state.ts';
import { type Placement, rungOf } from '../placement.ts';
import { isMoveRevoked } from './delivered-pool.ts';
import type { ProbeReading } from './lane.ts';

/** The pool of a pool move by consent (failover 5.8). */
export const CONSENTED_POOL = 'preemptible';

/**
 * Step 11 of failover 9.1, one append: dispatch, handle, stamp and completion, which also closes the intent.
 * A primary lane's create is the placement itself. `finished` = the workload ended before anybody looked.
 */
export function completion(
  state: Placement,
  intent: IntentState,
  instance: string,
  finished: ProbeReading | null,
): readonly Fact[] {
  return intent.entry.kind === 'terminal'
    ? [...terminalCompletion(state, intent, instance), ...judgedResult(state, intent, instance, finished)]
    : placement(state, intent, intent.entry.rung, instance);
}

function terminalCompletion(state: Placement, intent: IntentState, instance: string): readonly Fact[] {
  const { move } = state;
  if (move === null) throw new Error('a terminal intent without a decided move');
  const { reason, rule, evidence, key } = move.escalation;
  const dispatched: Fact = { type: 'WorkloadDispatched', data: { intent: intent.intent, instance } };
  return [
    ...(intent.running ? [] : [dispatched]),
    {
      type: 'FailoverCompleted',
      data: {
        intent: intent.intent,
        instance,
        lane: intent.lane,
        key,
        verdict: verdict('running_on_terminal', reason, rule, evidence),
      },
    },
  ];
}

/** Adopted, then judged (failover 9.3): done is done, and a failure there never moves again (failover 8.4). */
function judgedResult(
  state: Placement,
  { lane, costPerHourUsd }: IntentState,
  instance: string,
  finished: ProbeReading | null,
): readonly Fact[] {
  if (finished === null || finished.result === null) return [];
  const evidence = { instance, lane, result: finished.result };
  if (finished.result === 'done') {
    return [
      {
        type: 'AllocationDone',
        data: { instance, verdict: verdict('done', null, '4.2 done', evidence) },
      },
    ];
  }
  return [
    blocked('workload_failure', '8.4 terminal_workload_failed', evidence),
    ...alertOnce(state, 'kept_pod_billing', instance, { ...evidence, costPerHourUsd }),
  ];
}

function placement(state: Placement, intent: IntentState, rungId: string, instance: string): readonly Fact[] {
  const rung = rungOf(state, rungId);
  const moved = state.walk?.kind === 'pool_move';
  const evidence = { rung: rungId, pool: rung?.pool ?? null, lane: intent.lane, instance };
  if (moved && isMoveRevoked(state)) return poolDiffers(state, intent, instance, CHANGED_REQUEST);
  if (moved && intent.instancePool !== CONSENTED_POOL) {
    return poolDiffers(state, intent, instance, OTHER_POOL);
  }
  return [
    {
      type: 'InstancePlaced',
      data: {
        instance,
        lane: intent.lane,
        rung: rungId,
        intent: intent.intent,
        pool: intent.instancePool,
        createdAt: intent.instanceCreatedAt,
        costPerHourUsd: intent.costPerHourUsd,
        verdict: verdict(
          'placed_primary',
          moved ? 'consented_pool_move' : null,
          moved ? '5.8 pool_move' : '5.1 rung_taken',
          evidence,
        ),
      },
    },
  ];
}

const OTHER_POOL = { consented: CONSENTED_POOL, rule: '5.8 delivered_pool' };
/** A changed request gives the pool back (fallback 3, row 1). */
const CHANGED_REQUEST = { consented: 'on-demand', rule: '5.8 changed_request' };

/** Nobody consented to what was delivered: a person decides, nothing is dispatched or stopped (failover 5.8). */
function poolDiffers(
  state: Placement,
  intent: IntentState,
  instance: string,
  { consented, rule }: typeof OTHER_POOL,
): readonly Fact[] {
  const evidence = { instance, lane: intent.lane, consented, delivered: intent.instancePool };
  return [
    {
      type: 'DeliveredPoolDiffers',
      data: {
        instance,
        intent: intent.intent,
        consented,
        delivered: intent.instancePool,
        verdict: verdict('waiting', 'delivered_pool_differs', rule, evidence),
      },
    },
    { type: 'IntentClosed', data: { intent: intent.intent, why: 'blocked' } },
    ...alertOnce(state, 'delivered_pool_differs', instance, evidence),
  ];
}
