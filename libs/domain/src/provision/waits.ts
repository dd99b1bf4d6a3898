import type { AlertKind } from '#events/watch.events';
import type { IntentState } from '../intent/intent-state.ts';
import { type Move, openIntentOf, type Placement } from '../placement.ts';
import { UNKNOWN_CREATES_MAX, unknownPauseEnd } from './backoff.ts';
import { settlingOf } from './settle.ts';
import type { WaitReason } from './step.ts';

/** Why nothing happens to an allocation now, and until when at the latest; null = until something is heard. */
export interface Wait {
  readonly why: WaitReason;
  readonly until: string | null;
}

/**
 * What an allocation waits for, as far as its stream tells (failover 13): null = for nothing, or for what only a
 * worker's view shows (a lane without a driver, a listing that fails, a deployment that only observes). Pure, so
 * that whoever folds the stream can say it.
 */
export function waitOf(state: Placement): Wait | null {
  const intent = openIntentOf(state);
  if (intent !== null) return waitOfIntent(state, intent);
  if (state.poolDiffers !== null) return reason('delivered_pool');
  const works = state.walk !== null || (state.move !== null && state.move.state !== 'asked');
  if (!works) return null;
  if (state.move !== null && holdsFor(state, state.move)) return reason('cancel_unconfirmed');
  if (state.rewound !== null) return reason('log_rewound');
  return isOpen(state, 'terminal_limit_reached') ? reason('terminal_limit') : null;
}

function waitOfIntent(state: Placement, intent: IntentState): Wait | null {
  const { ended, instance } = intent;
  if (instance === null && ended !== null && settlingOf(intent, ended) === 'paused') {
    return { why: 'pause', until: ended.notBefore };
  }
  if (state.rewound !== null && instance === null) return reason('log_rewound');
  if (isOpen(state, 'keep_mark_blocks')) return reason('keep_mark');
  if (isOpen(state, 'terminal_pod_unreachable')) return reason('probe_unknown');
  if (intent.reaping !== null) return reason('reap_failed');
  if (instance !== null) return null;
  if (isOpen(state, 'create_unknown_repeated')) return { why: 'pause', until: unknownUntil(state, intent) };
  if (intent.unknownSends > 0) return reason('listing_grace');
  return isOpen(state, 'terminal_limit_reached') ? reason('terminal_limit') : null;
}

/** After creates whose outcome nobody knows: when the next one may follow (failover 14). */
function unknownUntil({ intents }: Placement, { chain, ended, sendNotAfter }: IntentState): string | null {
  const unknown = unknownCreates(intents, chain);
  const from = ended?.endedAt ?? sendNotAfter;
  return from === null || unknown < UNKNOWN_CREATES_MAX ? null : unknownPauseEnd(from, unknown);
}

/** Creates of a chain whose outcome nobody knows. */
export function unknownCreates(intents: readonly IntentState[], chain: string): number {
  return intents
    .filter((one) => one.chain === chain)
    .reduce((sum, { unknownSends }) => sum + unknownSends, 0);
}

/** A cancel that has to be confirmed first (failover 12.1, 14). */
function holdsFor({ cancelsOwed }: Placement, { escalation, state, refused }: Move): boolean {
  const { cancel, failedInstance } = escalation;
  if (failedInstance === null || !Object.hasOwn(cancelsOwed, failedInstance)) return false;
  return cancel === 'running' || state === 'cancelling' || refused !== null;
}

function isOpen({ alerts }: Placement, kind: AlertKind): boolean {
  return alerts.some(({ alert }) => alert === kind);
}

function reason(why: WaitReason): Wait {
  return { why, until: null };
}
