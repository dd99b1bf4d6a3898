import type { DataOfType } from '#events/catalogue';
import type { Entry } from '#events/intent.events';
import type { Verdict } from '#events/watch.events';
import type { Fact, Standing } from '../fact.ts';
import { verdict } from '../intent/blocked.ts';
import { voidedMove } from '../intent/void-failover.ts';
import { currentInstance, openIntentOf, type Placement, type Rewound } from '../placement.ts';
import { chainOf, markOf } from './marker.ts';

/** Why a person's word about the machine of a rewound log is not taken. */
export type RewoundRefusal =
  /** No machine holds this allocation: it was dealt with, or never found. */
  | 'nothing_rewound'
  /** No machine was delivered in another pool than agreed, or a person dealt with it. */
  | 'nothing_delivered'
  /** Another machine than the one that was named holds it. */
  | 'other_instance'
  /** The log knows no launch: there is nothing that the machine could be the instance of. */
  | 'no_launch'
  /** The plan has no entry on the machine's lane. */
  | 'lane_not_in_plan'
  /** Several rungs are on the machine's lane: the person has to say which one it is. */
  | 'several_rungs'
  /** The rung that was named is not in the plan, or on another lane. */
  | 'other_rung'
  /** Another workload may have been started already: that is settled first. */
  | 'other_dispatch_open';

/** What a person's word about one machine comes to: facts to record, or why it is not taken. */
export type MachineAnswer =
  | { readonly kind: 'decided'; readonly machine: Rewound; readonly facts: readonly Fact[] }
  | { readonly kind: 'refused'; readonly why: RewoundRefusal; readonly machine: Rewound | null };

/** Creates may go on: the person ended the machine, or takes care of it alone (failover 10.3). */
export function releaseRewound(
  state: Placement,
  word: { readonly instance: string | null; readonly by: DataOfType<'RewindReleased'>['releasedBy'] },
): MachineAnswer {
  const machine = state.rewound;
  const refused = refusedMachine(machine, word.instance);
  if (refused !== null) return refused;
  if (machine === null) throw new Error('a machine that is not refused');
  const data = { instance: machine.instance, releasedBy: word.by };
  return { kind: 'decided', machine, facts: [{ type: 'RewindReleased', data }] };
}

export interface Adoption {
  /** The machine that the person means; null = whichever holds the allocation. */
  readonly instance: string | null;
  /** The rung that it was made for, where its lane has several. */
  readonly rung: string | null;
  readonly deployment: string;
  readonly stream: string;
  readonly by: DataOfType<'RewoundAdopted'>['adoptedBy'];
}

/**
 * The machine that proved the restored backup becomes the current instance (failover 10.3). A walk, a question
 * or a move that is under way ends with it, and so does an intent that is open: a machine that was made for that
 * one is residue of a closed chain then. The instance that was current is left behind, and its cancel is owed.
 */
export function adoptRewound({ placement: state, record }: Standing, adoption: Adoption): MachineAnswer {
  const machine = state.rewound;
  const refused = refusedMachine(machine, adoption.instance);
  if (refused !== null) return refused;
  if (machine === null) throw new Error('a machine that is not refused');
  const entry = entryOf(state, machine.lane, adoption.rung);
  if (typeof entry === 'string') return { kind: 'refused', why: entry, machine };
  const open = openIntentOf(state);
  // Who may have started the workload has to be heard first: two would run.
  if (open !== null && open.dispatches > 0) return { kind: 'refused', why: 'other_dispatch_open', machine };
  const facts: Fact[] = [];
  if (open !== null) facts.push({ type: 'IntentClosed', data: { intent: open.intent, why: 'voided' } });
  if (state.move?.state === 'asked') {
    facts.push(voidedMove(state.move, record, { why: 'adopted', rule: RULE, dropsRungLoss: false }));
  }
  return { kind: 'decided', machine, facts: [...facts, adopted(state, machine, entry, adoption)] };
}

const RULE = '10.3 adopted_by_person';

function refusedMachine(machine: Rewound | null, named: string | null): MachineAnswer | null {
  if (machine === null) return { kind: 'refused', why: 'nothing_rewound', machine };
  if (named !== null && named !== machine.instance) {
    return { kind: 'refused', why: 'other_instance', machine };
  }
  return null;
}

/** What the machine was made for: its lane says it, unless several rungs are on that lane. */
function entryOf(state: Placement, lane: string, rung: string | null): Entry | RewoundRefusal {
  const plan = state.launch?.plan;
  if (plan === undefined) return 'no_launch';
  const rungs = plan.rungs.filter((one) => one.lane === lane);
  const [only, ...more] = rung === null ? rungs : rungs.filter(({ id }) => id === rung);
  if (only !== undefined) {
    return more.length > 0 ? 'several_rungs' : { kind: 'rung', rung: only.id, zone: null };
  }
  if (rung !== null) return 'other_rung';
  return plan.terminal?.lane === lane ? { kind: 'terminal' } : 'lane_not_in_plan';
}

function adopted(state: Placement, machine: Rewound, entry: Entry, adoption: Adoption): Fact {
  const { instance, lane, intent } = machine;
  const { stream, deployment, by } = adoption;
  const key = entry.kind === 'terminal' ? keyOf(state) : null;
  return {
    type: 'RewoundAdopted',
    data: {
      instance,
      lane,
      intent,
      name: markOf(deployment, stream, intent).name,
      entry,
      chain: chainOf(entry, key ?? intent),
      key,
      leaves: leftBehind(state),
      adoptedBy: by,
      verdict: verdictOf(state, machine, entry),
    },
  };
}

/** The terminal lane's machine completes the move that is under way, or that of the instance it has replaced. */
function keyOf(state: Placement): string | null {
  if (state.move !== null) return state.move.escalation.key;
  const current = currentInstance(state);
  return current?.kind === 'primary' ? current.id : null;
}

/** A pod is never cancelled by its number: the sweep finds it by its marker, and ends it if it is idle. */
function leftBehind(state: Placement): DataOfType<'RewoundAdopted'>['leaves'] {
  const current = currentInstance(state);
  if (current === null || current.kind === 'terminal') return null;
  if (state.cancelled.includes(current.id) || current.facts?.gone === true) return null;
  return { instance: current.id, lane: current.lane };
}

function verdictOf({ move }: Placement, machine: Rewound, entry: Entry): Verdict {
  const what = { adopted: machine.instance, adoptedLane: machine.lane };
  if (entry.kind === 'rung') return verdict('placed_primary', null, RULE, { ...what, rung: entry.rung });
  // Without a move its reason is among what the log has forgotten.
  const { reason = null, evidence = {} } = move?.escalation ?? {};
  return verdict('running_on_terminal', reason, RULE, { ...evidence, ...what });
}
