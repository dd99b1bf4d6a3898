import type { Escalation } from '#events/intent.events';
import type { Terminal } from '#events/plan';
import type { Placement } from '../placement.ts';
import type { StreamDigest } from './question-context.ts';

/** The move that a person is asked about; its digest binds the token (failover 4.8). */
export interface ProposedFailover {
  readonly action: 'failover_to_terminal';
  readonly logical_allocation_ref: string;
  readonly failed_instance_digest: string;
  /** The terminal lane's. */
  readonly lane: string;
  readonly machine: string | null;
  readonly gpu: Terminal['gpu'];
  readonly plan_digest: string;
  readonly digest: string;
}

/**
 * The proposed action of a move on this launch (failover 4.8, fallback 5); the same again whenever it is built.
 * Throws when there is no launch with a terminal entry: nobody is asked about that.
 */
export function proposedFailover(
  state: Placement,
  escalation: Escalation,
  { ref, digestOf }: { readonly ref: string; readonly digestOf: StreamDigest },
): ProposedFailover {
  const { launch } = state;
  const terminal = launch?.plan.terminal ?? null;
  if (launch === null || terminal === null) throw new Error('a failover is proposed without a terminal lane');
  const action = {
    action: 'failover_to_terminal',
    logical_allocation_ref: ref,
    failed_instance_digest: digestOf('failed-instance', failedOf(state, escalation)),
    lane: terminal.lane,
    machine: terminal.machine,
    gpu: terminal.gpu,
    plan_digest: digestOf('plan', { plan: launch.plan, workload: launch.workloadDigest }),
  } as const;
  return { ...action, digest: digestOf('failover-action', action) };
}

/** Lane and provider id; of an exhausted ladder the place of the launch, of a crash while placing the intent. */
function failedOf(state: Placement, { trigger, failedInstance, key }: Escalation): object {
  if (failedInstance !== null) {
    return { lane: state.instances[failedInstance]?.lane ?? null, instance: failedInstance };
  }
  return trigger === 'ladder_exhausted' ? { launch: state.launch?.version ?? null } : { intent: key };
}
