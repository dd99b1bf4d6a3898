import { currentInstance, openIntentOf } from '../placement.ts';
import type { AuditedState } from './audited-state.ts';
import { billsOf } from './bills.ts';
import type { StateView, UnreadableView } from './views.ts';

/**
 * The state of one allocation for a person; what bills is counted up to `at`. Nothing that a caller wrote. With
 * `unreadable` it is the state before that event.
 */
export function stateView(
  state: AuditedState,
  at: string,
  unreadable: UnreadableView | null = null,
): StateView {
  return {
    pos: state.pos,
    at: state.pos === 0 && unreadable !== null ? unreadable.at : state.at,
    unreadable,
    record: recordOf(state),
    placement: placementOf(state, at),
  };
}

function recordOf({ record }: AuditedState): StateView['record'] {
  if (record === null) return null;
  const { count, status, consent, pool, openQuestion } = record;
  return { count, status, consent, pool, openQuestion: openQuestion?.eventId ?? null };
}

function placementOf(state: AuditedState, at: string): StateView['placement'] {
  const { placement, providers } = state;
  const current = currentInstance(placement);
  const bills = billsOf(state, at);
  if (placement.launch === null && current === null && bills.length === 0) return null;
  const { outcome, verdict } = placement;
  return {
    outcome,
    reason: verdict?.reason ?? null,
    rule: verdict?.rule ?? null,
    instance:
      current === null
        ? null
        : { id: current.id, lane: current.lane, pool: current.pool, rung: current.rung },
    provider: current === null ? null : (providers[current.id] ?? null),
    openIntent: openIntentOf(placement)?.intent ?? null,
    bills,
  };
}
