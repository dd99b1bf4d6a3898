import { digest } from '#domain/digest';
import type { Fact } from '#domain/fact';
import { verdict } from '#domain/intent/blocked';
import type { RingKey } from '#domain/key-ring';
import { createsToday, type Placement, rungOf, utcDay } from '#domain/placement';
import { decideLaunch } from '#domain/provision/decide-launch';
import { laneDirectory } from '#domain/provision/lane-directory';
import { launchBody, launchBodyDigest } from '#domain/provision/launch-body';
import { BUILT_IN_LIMITS } from '#domain/provision/limits';
import { resolvePlan, type SealedWorkload, workloadDigest, workloadOf } from '#domain/provision/plan';
import type { DataOfType } from '#events/catalogue';
import type { ScenarioPlan } from './scenario.ts';
import { LANES } from './world.ts';

/** The allocation of every scenario (FORMAT.md). */
export const ALLOCATION = 'train-7';

const DIRECTORY = laneDirectory(Object.entries(LANES).map(([lane, declared]) => ({ lane, ...declared })));
/** In a simulation a lease may be shorter than any real one (failover 14). */
const LaunchBody = launchBody({ lanes: DIRECTORY, workerLeaseMinS: 0 });

const DEFAULT_RUNGS = [
  { id: 'flex_a', lane: 'gcp', pool: 'flex-start' },
  { id: 'od_a', lane: 'gcp', pool: 'on-demand' },
] as const;

/** A launch as ingest would take it: the request, what it means, and the workload that it seals. */
export interface LaunchInput {
  readonly requested: DataOfType<'LaunchRequested'>;
  readonly workload: SealedWorkload | null;
}

/** The launch of a scenario's plan, read and resolved as one that came over HTTP (failover 2.1). */
export function launchInput(plan: ScenarioPlan, number: number, key: RingKey): LaunchInput {
  const body = LaunchBody.parse({
    logical_allocation: ALLOCATION,
    plan: {
      rungs: plan.rungs ?? DEFAULT_RUNGS,
      terminal: plan.terminal === undefined ? { lane: 'runpod' } : plan.terminal,
      budget_s: plan.budget_s ?? null,
    },
    workload: plan.workload === undefined ? { command: 'run' } : plan.workload,
    limits: plan.limits ?? null,
    failover: plan.failover ?? 'standing',
  });
  const workload = workloadOf(body);
  return {
    workload,
    requested: {
      ringKeyId: key.id,
      messageIdDigest: digest(key.digests, 'message-id', `launch ${number}`),
      bodyDigest: launchBodyDigest(body, key),
      requestedBy: 'local',
      plan: resolvePlan(body, DIRECTORY, BUILT_IN_LIMITS),
      requestDigest: null,
      workloadDigest: workload === null ? null : workloadDigest(workload, key),
    },
  };
}

/** The request of a launch that is taken, and its acceptance; null for one that is refused (failover 2.1). */
export function launchFacts(
  state: Placement,
  { requested }: LaunchInput,
  launchId: string,
): { readonly inputs: readonly Fact[]; readonly facts: readonly Fact[] } | null {
  const { plan, requestDigest, workloadDigest: workload } = requested;
  const decision = decideLaunch(state, { launch: launchId, plan, requestDigest, workloadDigest: workload });
  if (decision.kind === 'refused') return null;
  return {
    inputs: [{ type: 'LaunchRequested', data: requested }],
    facts: [{ type: 'LaunchAccepted', data: decision.accepted }],
  };
}

/**
 * The shortcut of a scenario: the instance was created on this rung at this time, as if the launch had got it,
 * and it counts as one create if the lane is primary.
 */
export function placedFacts(
  state: Placement,
  { rung: id, instance }: { readonly rung: string; readonly instance: string },
  at: string,
): readonly Fact[] {
  const rung = rungOf(state, id);
  if (rung === null) throw new Error(`the plan has no rung "${id}"`);
  const day = utcDay(at);
  const count = createsToday(state, day) + 1;
  const evidence = { rung: rung.id, lane: rung.lane, instance };
  const placed: Fact = {
    type: 'InstancePlaced',
    data: {
      instance,
      lane: rung.lane,
      rung: rung.id,
      intent: null,
      pool: rung.pool,
      createdAt: at,
      costPerHourUsd: null,
      verdict: verdict('placed_primary', null, '5.1 rung_taken', evidence),
    },
  };
  if (rung.kind !== 'primary') return [placed];
  return [{ type: 'RungCounted', data: { rung: rung.id, day, count, fence: 1 } }, placed];
}
