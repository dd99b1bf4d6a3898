import { instantMs } from '#events/instant';
import type { Limits } from '#events/plan';
import type { InstanceFacts, Observation } from '#events/watch.events';
import type { PlacedInstance } from '../placement.ts';

/** What the facts of an instance are measured with, beside its observations. */
export interface WatchTerms {
  readonly limits: Limits;
  /** The owner's declared run time in seconds; null = unknown: then a silent machine never counts as hung. */
  readonly budgetS: number | null;
  /** Newest observation known when the open question about this instance was asked; null while none is open. */
  readonly askedAfter: string | null;
}

/**
 * The facts of an instance after one more observation (failover 3). One that is not newer than the newest known
 * one adds write-once facts only, which a repeat has added before; a failed read sets no fact, moves no clock and
 * breaks the rows of alarms.
 */
export function observed(
  before: InstanceFacts | null,
  instance: PlacedInstance,
  observation: Observation,
  newest: string | null,
  terms: WatchTerms,
): InstanceFacts {
  const known = before ?? nothingSeen(newest ?? observation.observedAt);
  // Of two polls of one instant the second has something to add only if it is no true repeat.
  if (newest !== null && observation.observedAt <= newest) return withWriteOnce(known, observation);
  if (observation.provider === 'probe_error') {
    return { ...known, newest: observation.observedAt, transportAlarms: null, silentLogs: null };
  }
  return fresh(known, instance, observation, terms);
}

/** Seconds between two instants; negative when `until` is the older one. */
export function secondsBetween(since: string, until: string): number {
  return (instantMs(until) - instantMs(since)) / 1000;
}

/** Seconds since the provider made the instance; null = its creation time is unknown. */
export function ageS(instance: PlacedInstance, observation: Observation): number | null {
  return instance.createdAt === null ? null : secondsBetween(instance.createdAt, observation.observedAt);
}

/** Whether the guest was last seen in this phase: an unreadable guest keeps the phase that was read last. */
export function isInPhase(
  facts: InstanceFacts,
  phase: 'failed' | 'wedged' | 'workload' | 'finalizing',
): boolean {
  return facts.guestRead && facts.phase === phase;
}

/** Of an instance of which no observation was taken in. */
export function nothingSeen(newest: string): InstanceFacts {
  return {
    newest,
    seenQueued: false,
    seenProvisioning: false,
    reachedRunning: false,
    workloadStarted: false,
    queuedSince: null,
    phase: null,
    phaseSince: null,
    guestRead: false,
    transportAlarms: null,
    silentLogs: null,
    failedUpSince: null,
    setupFailed: false,
    noPortSince: null,
    reachableAgainAt: null,
    gone: false,
  };
}

function withWriteOnce(facts: InstanceFacts, observation: Observation): InstanceFacts {
  const { provider, guest } = observation;
  if (provider === 'probe_error') return facts;
  return {
    ...facts,
    seenQueued: facts.seenQueued || provider === 'queued',
    seenProvisioning: facts.seenProvisioning || provider === 'provisioning',
    reachedRunning: facts.reachedRunning || provider === 'running' || guest !== null,
    workloadStarted: facts.workloadStarted || guest?.workloadStarted === true,
  };
}

function fresh(
  before: InstanceFacts,
  instance: PlacedInstance,
  observation: Observation,
  terms: WatchTerms,
): InstanceFacts {
  const { observedAt, provider } = observation;
  const clock = phaseClock(before, observation);
  const restarted = clock.phase !== before.phase;
  const facts = { ...withWriteOnce(before, observation), ...clock, newest: observedAt };
  return {
    ...facts,
    queuedSince: provider === 'queued' ? (before.queuedSince ?? observedAt) : null,
    transportAlarms: isTransportAlarm(observation)
      ? longer(restarted ? null : before.transportAlarms, observedAt)
      : null,
    silentLogs: isSilent(instance, observation, terms)
      ? longer(restarted ? null : before.silentLogs, observedAt)
      : null,
    failedUpSince:
      provider === 'running' && isInPhase(facts, 'failed') ? (before.failedUpSince ?? observedAt) : null,
    setupFailed: setupFailed(before, facts, observation),
    noPortSince: noPortSince(before, observation),
    reachableAgainAt: reachableAgainAt(before, observation, terms),
    gone: isGone(before, observation),
  };
}

/** The clock starts at the first observation in a phase, and anew at every other phase (failover 3.5). */
function phaseClock(
  before: InstanceFacts,
  { observedAt, provider, guest }: Observation,
): Pick<InstanceFacts, 'phase' | 'phaseSince' | 'guestRead'> {
  const { phase, phaseSince, guestRead } = before;
  // An unreadable guest is no other phase; only where none was ever read the provider's word stands for it.
  const now = guest === null ? (guestRead ? phase : provider) : guest.phase;
  const since = now === phase ? (phaseSince ?? observedAt) : observedAt;
  return { phase: now, phaseSince: since, guestRead: guestRead || guest !== null };
}

/** One more in a row. */
function longer(streak: InstanceFacts['silentLogs'], at: string): NonNullable<InstanceFacts['silentLogs']> {
  return streak === null ? { count: 1, since: at } : { count: streak.count + 1, since: streak.since };
}

function isTransportAlarm({ provider, alarm }: Observation): boolean {
  return provider === 'running' && alarm === 'transport';
}

/** Reachable, and silent for too long after its time should be over: an unknown number never counts (failover 4.6). */
function isSilent(instance: PlacedInstance, observation: Observation, terms: WatchTerms): boolean {
  const { provider, alarm, logAgeS } = observation;
  const age = ageS(instance, observation);
  if (provider !== 'running' || alarm !== 'none' || logAgeS === null) return false;
  if (terms.budgetS === null || age === null) return false;
  const { wedgeLogAgeS, wedgeBudgetFactor } = terms.limits;
  return logAgeS > wedgeLogAgeS && age > wedgeBudgetFactor * terms.budgetS;
}

/** Only a flag that was read together with the phase says that the setup failed. */
function setupFailed(
  before: InstanceFacts,
  after: Pick<InstanceFacts, 'phase' | 'guestRead' | 'workloadStarted'>,
  { guest }: Observation,
): boolean {
  if (!after.guestRead || after.phase !== 'failed' || after.workloadStarted) return false;
  return guest?.workloadStarted === false || before.setupFailed;
}

function noPortSince(before: InstanceFacts, { observedAt, port }: Observation): string | null {
  if (port === null) return before.noPortSince;
  return port ? null : (before.noPortSince ?? observedAt);
}

function reachableAgainAt(
  before: InstanceFacts,
  { observedAt, provider, alarm }: Observation,
  { askedAfter }: WatchTerms,
): string | null {
  if (askedAfter === null) return null;
  if (before.reachableAgainAt !== null && before.reachableAgainAt > askedAfter)
    return before.reachableAgainAt;
  return provider === 'running' && alarm === 'none' ? observedAt : null;
}

/** Absence proves an end only once the create is known to be over, or after a life that was seen. */
function isGone(before: InstanceFacts, { provider, createOperation }: Observation): boolean {
  if (provider === 'terminated') return true;
  if (provider !== 'not_found') return false;
  return before.gone || before.reachedRunning || createOperation === 'done' || createOperation === 'failed';
}
