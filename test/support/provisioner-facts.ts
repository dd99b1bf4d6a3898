import { UNKNOWN_ALLOCATION } from '#domain/allocation';
import { allocationRef } from '#domain/attempt/assess';
import { commandDigest } from '#domain/command-digest';
import { afterFacts, eventOfFact, type Fact } from '#domain/fact';
import type { KeyRing } from '#domain/key-ring';
import { placementRowOf } from '#domain/placement-row';
import { loadAllocation } from '#event-log/load-allocation';
import { PlacementStates } from '#event-log/placement-states';
import type { PostgresLog } from '#event-log/postgres-log';
import { eventIdOf } from '#events/envelope';
import { allocationStream } from '#events/streams';
import type { Verdict } from '#events/watch.events';
import type { RunningApps } from '#tools/up/apps';
import { fresh } from './log-builders.ts';

/** What `provisioner` would say of a launch that got an instance. */
export const PLACED_VERDICT: Verdict = {
  outcome: 'placed_primary',
  reason: null,
  failureClass: null,
  redrivable: false,
  rule: '9.1 placed',
  evidence: {},
  notFired: [],
};

/** Ends the app that would go on with launches: the test records in its place. */
export async function stopProvisioner({ processes }: RunningApps): Promise<void> {
  for (const [app, running] of Object.entries(processes)) if (app === 'provisioner') await running.stop();
}

/** The stream of a name that was never under another key. */
export function streamOfName(ring: KeyRing, name: string): string {
  return allocationStream(allocationRef(name, ring.newest));
}

/** Records facts of a stream as `provisioner` does: on the version that it saw, with the row beside the log. */
export async function appendAsProvisioner(
  log: PostgresLog,
  stream: string,
  facts: readonly Fact[],
  at: string,
): Promise<void> {
  const placement = await new PlacementStates(log, 1).get(stream);
  const record = (await loadAllocation(log, stream)) ?? UNKNOWN_ALLOCATION;
  const commandId = fresh('provision');
  const eventIdAt = (index: number) => eventIdOf(commandId, index);
  const after = afterFacts({ placement, record }, facts, { at, eventIdAt });
  const saw = placement.version;
  const [result] = await log.append([
    {
      commandId,
      digest: commandDigest('provision', commandId),
      stream,
      expected: { decisionVersion: saw },
      occurredAt: at,
      events: facts.map((fact) => ({ event: eventOfFact(fact), meta: { causedBy: null, saw } })),
      placement: placementRowOf(after.placement),
    },
  ]);
  if (result?.outcome !== 'appended') throw new Error(`the facts were answered ${result?.outcome}`);
}

/** The one fact by which an instance on a rung becomes the current one. */
export function instancePlaced(change: {
  readonly instance: string;
  readonly rung: string;
  readonly createdAt: string;
}): Fact {
  return {
    type: 'InstancePlaced',
    data: {
      instance: change.instance,
      lane: 'gcp',
      rung: change.rung,
      intent: null,
      pool: null,
      createdAt: change.createdAt,
      costPerHourUsd: 2.5,
      verdict: PLACED_VERDICT,
    },
  };
}
