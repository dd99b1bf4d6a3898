import type { InstanceFacts, Observation, Verdict } from '#events/watch.events';
import type { Placement } from '../placement.ts';
import { watchAlerts } from './alerts.ts';
import { type Assessment, assess, newestOf } from './assess.ts';
import { unchangedVerdict } from './judge.ts';

/** An observation after which nothing is different (failover 3.8). */
export interface NoChange {
  /** The answer: `unchanged`, with the rule that was met and why the others did not fire. */
  readonly verdict: Verdict;
  /** Whether it is the newest of the current instance: then its mark moves. */
  readonly movesMark: boolean;
}

/**
 * Whether judging this observation would change no fact, row of alarms or clock, and decide nothing: then its
 * mark moves instead of an event being added (failover 3.8). Null = it must be recorded and judged.
 */
export function changesNothing(
  state: Placement,
  observation: Observation,
  mark: string | null,
): NoChange | null {
  const assessed = assess(state, observation, mark);
  if (assessed.follows.kind !== 'holds' || assessed.endsStreak || addsAlert(state, assessed)) return null;
  const before = state.instances[observation.instance]?.facts ?? null;
  if (!isSameKnowledge(before, assessed.facts)) return null;
  const newest = newestOf(before, mark);
  const isNewest = newest === null || observation.observedAt > newest;
  const movesMark = isNewest && state.current === observation.instance && assessed.facts !== null;
  return { verdict: unchangedVerdict(assessed), movesMark };
}

function addsAlert(state: Placement, { watched }: Assessment): boolean {
  if (watched === null) return false;
  return watchAlerts(state, watched.instance, watched.facts, watched.observation).length > 0;
}

/** Equal but for the moment of the newest observation. */
function isSameKnowledge(before: InstanceFacts | null, after: InstanceFacts | null): boolean {
  if (before === null || after === null) return before === after;
  const names = Object.keys(after).filter((name) => name !== 'newest');
  return names.every((name) => isSame(Reflect.get(before, name), Reflect.get(after, name)));
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  return Object.keys(one).every((name) => Reflect.get(one, name) === Reflect.get(other, name));
}
