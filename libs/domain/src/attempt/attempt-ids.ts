import { eventIdOf } from '#events/envelope';
import { digest } from '../digest.ts';
import type { RingKey } from '../key-ring.ts';

/** What names an attempt beside its body: the caller's id, the place in the bus queue, or chance. */
export type AttemptName =
  | { readonly kind: 'caller'; readonly id: string }
  | { readonly kind: 'queue'; readonly incarnation: string; readonly sequence: number }
  | { readonly kind: 'random'; readonly id: string };

/**
 * Command id of an attempt: the same for every repeat, whoever sends it and by whichever way, and unguessable
 * for everyone without the key (fallback 1.1).
 */
export function attemptCommandId(name: AttemptName, key: RingKey): string {
  switch (name.kind) {
    case 'caller':
      return `attempt-${digest(key.digests, 'attempt-id', name.id)}`;
    case 'queue':
      return `attempt-${digest(key.digests, 'message-id', {
        incarnation: name.incarnation,
        sequence: name.sequence,
      })}`;
    case 'random':
      return `attempt-${name.id}`;
  }
}

/** Command id of the one decision about an attempt. */
export function decisionCommandId(attemptEventId: string): string {
  return `decide-${attemptEventId}`;
}

/** Id of the one decision about an attempt: known before it is made. */
export function decisionIdOf(attemptEventId: string): string {
  return eventIdOf(decisionCommandId(attemptEventId), 0);
}
