import type { DataOfType } from '#events/catalogue';
import type { Fact } from '../fact.ts';
import { blocked, verdict } from '../intent/blocked.ts';
import type { IntentState } from '../intent/intent-state.ts';
import type { DeliveredPool, Placement } from '../placement.ts';
import type { MachineAnswer } from './rewound.ts';

/**
 * The request has changed since the pool move was accepted, so nobody has agreed to what its open intent would
 * bring (failover 5.8, fallback 3).
 */
export function isMoveRevoked({ walk, launch, request }: Placement): boolean {
  return walk?.kind === 'pool_move' && request !== null && request !== (launch?.requestDigest ?? null);
}

/** The attempt at a revoked move ends: nothing of it was made, and nothing more is sent (failover 5.8). */
export function revokedMove(state: Placement, intent: IntentState | null): readonly Fact[] {
  const prompt = state.poolMoves.at(-1);
  if (prompt === undefined) throw new Error('a pool move that no question allowed');
  return [
    ...(intent === null
      ? []
      : [{ type: 'IntentClosed' as const, data: { intent: intent.intent, why: 'voided' as const } }]),
    { type: 'PoolMoveNotProvisioned', data: { prompt, why: 'other_request' } },
  ];
}

/** What a person says about a machine in another pool than was agreed to (failover 5.8). */
interface Word {
  /** The machine that is meant; null = whichever holds the allocation. */
  readonly instance: string | null;
  readonly by: DataOfType<'DeliveredPoolAccepted'>['acceptedBy'];
}

/** The machine is taken as it was delivered: it is the instance from now on, and nothing is sent to it. */
export function acceptPool(state: Placement, word: Word): MachineAnswer {
  const held = heldBy(state, word);
  if ('kind' in held) return held;
  const { instance, lane, intent, rung, delivered } = held;
  const made = state.intents.find((one) => one.intent === intent);
  const evidence = { instance, lane, rung: rung.id, pool: delivered };
  return {
    kind: 'decided',
    machine: held,
    facts: [
      {
        type: 'DeliveredPoolAccepted',
        data: {
          instance,
          lane,
          rung,
          intent,
          pool: delivered,
          createdAt: made?.instanceCreatedAt ?? null,
          costPerHourUsd: made?.costPerHourUsd ?? null,
          acceptedBy: word.by,
          verdict: verdict('placed_primary', 'consented_pool_move', '5.8 accepted_by_person', evidence),
        },
      },
    ],
  };
}

/**
 * The machine is not wanted. Spillway stops nothing that its own create may have started, so it bills until it is
 * seen gone; the allocation is blocked, and its owner may launch it again.
 */
export function releasePool(state: Placement, word: Word): MachineAnswer {
  const held = heldBy(state, word);
  if ('kind' in held) return held;
  const { instance, lane, delivered } = held;
  const evidence = { instance, lane, delivered };
  return {
    kind: 'decided',
    machine: held,
    facts: [
      { type: 'DeliveredPoolReleased', data: { instance, lane, releasedBy: word.by } },
      blocked('failover_declined', '5.8 released_by_person', evidence),
    ],
  };
}

function heldBy({ poolDiffers }: Placement, { instance }: Word): DeliveredPool | MachineAnswer {
  if (poolDiffers === null) return { kind: 'refused', why: 'nothing_delivered', machine: null };
  if (instance !== null && instance !== poolDiffers.instance) {
    return { kind: 'refused', why: 'other_instance', machine: poolDiffers };
  }
  return poolDiffers;
}
