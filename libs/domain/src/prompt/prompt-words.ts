import type { Escalation, Trigger } from '#events/intent.events';
import type { Terminal } from '#events/plan';
import type { EventOf } from '../audit/told.ts';
import { verdictLines } from '../audit/verdict-lines.ts';
import type { PromptView } from '../audit/views.ts';
import { explanations } from '../explanation.ts';
import { type Placement, rungOf } from '../placement.ts';

/** What a question says to a person. Fixed wording: nothing in it is what a caller wrote (fallback 1.1, 7). */
export type PromptWords = Pick<PromptView, 'asks' | 'differs' | 'why' | 'buys' | 'onYes' | 'onNo'>;

/** The pool question (fallback 3). */
export function poolWords({ data }: EventOf<'FallbackPrompted'>): PromptWords {
  return {
    asks: 'No on-demand GPUs could be had: may this identical allocation run on preemptible ones, which the provider can take back at any time?',
    differs: { what: 'pool', from: 'on-demand', to: 'preemptible' },
    why: {
      rule: data.reason,
      sentence:
        data.reason === 'deterministic_preflight'
          ? 'A preflight of the provider proves that on-demand cannot succeed and that preemptible capacity is there.'
          : `${data.after.count} placement failures count as missing GPU capacity: as many as a question needs, or more.`,
      lines: explanations(data.explanation),
    },
    buys: 'Preemptible capacity for the identical allocation. Preemptible machines can be taken away while they run.',
    onYes: [
      'The allocation may use preemptible capacity: this very one, with all 13 members as they are.',
      'If it was launched for the same request and has no running machine, Spillway now looks for a preemptible one.',
      'A yes cannot be taken back; a changed request ends it.',
    ],
    onNo: [
      'The allocation stays on demand, and nothing is bought.',
      'This same evidence is not asked about again. Failures go on being counted, and new evidence may ask anew.',
    ],
  };
}

/** The failover question of a launch with a terminal lane (failover 4.8). Throws for a placement without one. */
export function failoverWords({ data }: EventOf<'FailoverPrompted'>, placement: Placement): PromptWords {
  const { escalation, verdict } = data;
  const terminal = placement.launch?.plan.terminal ?? null;
  if (terminal === null) throw new Error('a failover question about a launch without a terminal lane');
  const { lane } = terminal;
  return {
    asks: `${LOST[escalation.trigger]}: may the run be moved, once, to a paid machine on ${lane}?`,
    differs: { what: 'lane', from: laneBefore(escalation, placement), to: lane },
    why: { rule: escalation.rule, sentence: WHY[escalation.trigger], lines: verdictLines(verdict) },
    buys: `One machine on the paid lane ${lane}${machineText(terminal)}. It bills until the run ends.`,
    onYes: [
      ...cancelledFirst(escalation, placement),
      `One machine is created on lane ${lane} and the workload is started on it, once.`,
      ...(escalation.failedInstance === null
        ? []
        : [
            'If the instance has begun to run meanwhile, or is reachable again, it stays and nothing is bought.',
          ]),
    ],
    onNo: [
      'The allocation is blocked as declined. This is final: only a new launch goes on.',
      stays(escalation),
    ],
  };
}

const LOST: Readonly<Record<Trigger, string>> = {
  queue_vanish: 'The machine vanished from its queue before it ran',
  queue_timeout: 'The run has waited in a queue for too long',
  workload_crash: 'The workload crashed on its machine',
  workload_crash_placing: 'The workload crashed while it was being placed',
  infra_wedge: 'The machine hangs',
  boot_loop: 'Machines of this kind die before their workload begins',
  ladder_exhausted: 'No other place in its plan has room',
};

const WHY: Readonly<Record<Trigger, string>> = {
  queue_vanish: 'The provider confirms that the instance is gone, and it never ran: the queue lost it.',
  queue_timeout: 'It has been queued without a break for longer than the limit of its launch.',
  workload_crash: 'Its machine ended with the workload failed, after the workload had begun.',
  workload_crash_placing: 'The lane answered the create with an error of the workload itself.',
  infra_wedge: 'It stood still for longer than the limits of its launch, or its own watchdog ended it.',
  boot_loop: 'As many machines in a row as the limit of its launch ended before the workload began.',
  ladder_exhausted: 'Every rung was tried or had to be passed over, and none gave a machine.',
};

/** The lane that the run leaves; of an exhausted ladder the one it was to begin on. */
function laneBefore({ failedInstance, rung }: Escalation, placement: Placement): string {
  const instance = failedInstance === null ? undefined : placement.instances[failedInstance];
  const known = rung === null ? null : rungOf(placement, rung);
  return instance?.lane ?? known?.lane ?? placement.launch?.plan.rungs[0]?.lane ?? 'none';
}

function cancelledFirst({ cancel, failedInstance }: Escalation, placement: Placement): readonly string[] {
  const instance = failedInstance === null ? undefined : placement.instances[failedInstance];
  const where = instance === undefined ? '' : ` on lane ${instance.lane}`;
  switch (cancel) {
    case 'nothing':
      return [];
    case 'queued':
      return [`First the queued instance${where} is cancelled; found running, it stays and the move is off.`];
    case 'running':
      return [`First the machine${where} is cancelled, and the move waits until the provider confirms it.`];
  }
}

function stays({ cancel }: Escalation): string {
  switch (cancel) {
    case 'nothing':
      return 'Nothing is created and nothing is bought.';
    case 'queued':
      return 'Nothing is created. The instance stays in its queue; should it start, it bills.';
    case 'running':
      return 'Nothing is created. The machine stays as it is and goes on billing.';
  }
}

function machineText({ machine, gpu }: Terminal): string {
  const count = gpu?.count ?? null;
  const product = gpu?.product ?? gpu?.family ?? null;
  const gpuText = product === null ? null : count === null ? product : `${count} × ${product}`;
  const parts = [machine, gpuText].filter((part) => part !== null);
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}
