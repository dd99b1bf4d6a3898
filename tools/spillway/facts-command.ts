import { allocationRowOf, isAllocationFact } from '#domain/allocation';
import { commandDigest } from '#domain/command-digest';
import { afterFacts, eventOfFact, type Fact, type Standing } from '#domain/fact';
import type { Command } from '#domain/log';
import { placementRowOf } from '#domain/placement-row';
import { canonicalJson } from '#events/canonical-json';
import { eventIdOf } from '#events/envelope';

/**
 * The command that records what an operator decided, on the exact version on which it was decided. The same words
 * on the same version are the same command: a repeat after a lost reply changes nothing.
 */
export function factsCommand(decided: {
  readonly stream: string;
  readonly at: string;
  readonly standing: Standing;
  readonly facts: readonly Fact[];
  /** Whether the placement's half of the row is written: not for an allocation that was never launched. */
  readonly writesPlacement: boolean;
}): Command {
  const { stream, at, standing, facts, writesPlacement } = decided;
  const saw = standing.placement.version;
  const digest = commandDigest('admin', canonicalJson({ stream, saw, facts }));
  const commandId = `admin-${digest}`;
  const after = afterFacts(standing, facts, { at, eventIdAt: (index) => eventIdOf(commandId, index) });
  return {
    commandId,
    digest,
    stream,
    expected: { decisionVersion: saw },
    occurredAt: at,
    events: facts.map((fact) => ({ event: eventOfFact(fact), meta: { causedBy: null, saw } })),
    ...(writesPlacement ? { placement: placementRowOf(after.placement) } : {}),
    ...(facts.some(isAllocationFact) ? { allocation: allocationRowOf(after.record.scalars) } : {}),
  };
}
