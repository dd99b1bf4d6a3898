import type { BlockedReason, Escalation, Trigger } from '#events/intent.events';
import type { Limits } from '#events/plan';
import type { Miss } from '#events/provision.events';
import type { Evidence, InstanceFacts, Observation } from '#events/watch.events';
import type { Launch, PlacedInstance, Placement } from '../placement.ts';

/** What every rule of watching looks at: one observation of the current instance, newer than all before it. */
export interface Watched {
  readonly state: Placement;
  readonly launch: Launch;
  readonly instance: PlacedInstance;
  /** The facts before and after this observation. */
  readonly before: InstanceFacts | null;
  readonly facts: InstanceFacts;
  readonly observation: Observation;
  readonly limits: Limits;
}

/** What follows from a rule that fired. */
export type Consequence =
  | { readonly kind: 'done' }
  | { readonly kind: 'blocked'; readonly reason: BlockedReason; readonly keepsPod?: boolean }
  | { readonly kind: 'create_failed'; readonly rung: string; readonly miss: Miss }
  | {
      readonly kind: 'escalates';
      readonly trigger: Exclude<Trigger, 'ladder_exhausted' | 'workload_crash_placing'>;
      readonly cancel: Escalation['cancel'];
      /** The rung lost an instance in its queue (failover 5.4). */
      readonly queueLoss: boolean;
    }
  /** Nothing is decided, and no later rule is asked: the next observation will tell. */
  | { readonly kind: 'holds' };

export type Finding =
  | {
      readonly fires: true;
      /** The section's rule and arm. */
      readonly rule: string;
      readonly evidence: Evidence;
      readonly follows: Consequence;
      /** A boot death that this observation is the first to show: the streak with it (failover 4.7). */
      readonly bootDeath?: { readonly rung: string; readonly day: string; readonly streak: number };
    }
  /** The first condition that failed. */
  | { readonly fires: false; readonly why: string };

/** A rule of section 4: pure, asked in the order of 4.1. */
export type WatchRule = (watched: Watched) => Finding;

export function notFired(why: string): Finding {
  return { fires: false, why };
}

/** The rule fires, with the facts it used; the instance and the observation always stand beside them (failover 13). */
export function fires(
  { instance, observation }: Watched,
  rule: string,
  follows: Consequence,
  evidence: Evidence,
): Extract<Finding, { fires: true }> {
  const { observedAt, provider } = observation;
  return {
    fires: true,
    rule,
    follows,
    evidence: {
      instance: instance.id,
      lane: instance.lane,
      ...(instance.rung === null ? {} : { rung: instance.rung }),
      observedAt,
      provider,
      ...evidence,
    },
  };
}
