import type { IntentState } from '../intent/intent-state.ts';
import type { LaneInstance, ProbeReading } from './lane.ts';
import type { OwnMachine } from './sightings.ts';

/** What an own machine is worth to the attempt that finds it (failover 9.3). */
export type Condition =
  | 'running'
  /** It ran, ended, and its result can be read. */
  | 'finished'
  /** Good for a dispatch: the workload positively does not run, and the bootstrap is complete or never began. */
  | 'healthy'
  /** The bootstrap began and did not end well, or the machine ended, and nothing was ever dispatched. */
  | 'residue'
  /** It may have run, and its result cannot be read: a person's. */
  | 'unreadable'
  /** A probe gave no answer: hold. */
  | 'unknown';

/**
 * What the log says of a machine: under the intent that adopted it, and under the one that it carries, unless
 * that one is closed and another machine answers for it: what was sent to that other one is no history of this.
 */
export interface History {
  readonly bootstrapBegun: boolean;
  readonly dispatched: boolean;
  /** Its end was announced and may be on its way: nothing is built on it any more (failover 9.4). */
  readonly reaping: boolean;
}

export function historyOf({ machine, intent }: OwnMachine, intents: readonly IntentState[]): History {
  const its = intents.filter(
    (one) =>
      one.instance === machine.id || (one === intent && (one.closed === null || one.instance === null)),
  );
  return {
    bootstrapBegun: its.some((one) => one.bootstrapBegunAt !== null),
    dispatched: its.some((one) => one.dispatches > 0),
    reaping: intents.some(({ reaping }) => reaping === machine.id),
  };
}

/** Whether only a probe can tell: a machine that is still starting and was sent nothing has nothing to tell. */
export function needsProbe(machine: LaneInstance, history: History): boolean {
  return history.dispatched || machine.state === 'running';
}

/** Judges one own machine by its state, its history in the log and a probe (failover 9.3). */
export function conditionOf(
  machine: LaneInstance,
  history: History,
  probe: ProbeReading | 'failed' | null,
): Condition {
  if (machine.state === 'terminated') return endedCondition(history, probe);
  if (!needsProbe(machine, history)) {
    return history.bootstrapBegun || history.reaping ? 'residue' : 'healthy';
  }
  if (probe === null || probe === 'failed') return 'unknown';
  switch (probe.workload) {
    case 'running':
      return 'running';
    case 'finished':
      return probe.result === null ? 'unknown' : 'finished';
    case 'unknown':
      return 'unknown';
    case 'none':
      return idleCondition(history, probe.bootstrap);
  }
}

function endedCondition(history: History, probe: ProbeReading | 'failed' | null): Condition {
  if (!history.dispatched) return 'residue';
  if (probe === null || probe === 'failed') return 'unknown';
  return probe.workload === 'finished' && probe.result !== null ? 'finished' : 'unreadable';
}

function idleCondition(history: History, bootstrap: ProbeReading['bootstrap']): Condition {
  if (history.reaping && !history.dispatched) return 'residue';
  switch (bootstrap) {
    case 'complete':
      return 'healthy';
    case 'unknown':
      return 'unknown';
    case 'not_begun':
      if (!history.bootstrapBegun) return 'healthy';
      return history.dispatched ? 'unreadable' : 'residue';
    case 'begun':
      return history.dispatched ? 'unreadable' : 'residue';
  }
}
