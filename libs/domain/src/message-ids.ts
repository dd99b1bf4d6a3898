import type { AttemptName } from './attempt/attempt-ids.ts';
import { digest } from './digest.ts';
import type { RingKey } from './key-ring.ts';

/** What names a launch or an observation beside its body: the caller's id, its place in the queue, or chance. */
export type MessageName = AttemptName;

/** Inputs that are named by a message id (failover 2). */
export type MessageCall = 'launch' | 'observation';

/**
 * Command id of a message: the same for every repeat, whoever sends it and by whichever way, and unguessable for
 * everyone without the key. A launch and an observation may have the same message id.
 */
export function messageCommandId(call: MessageCall, name: MessageName, key: RingKey): string {
  if (name.kind === 'random') return `${call}-${name.id}`;
  return `${call}-${messageIdDigest(name, key)}`;
}

/** What is recorded of a message id. */
export function messageIdDigest(name: MessageName, key: RingKey): string {
  if (name.kind !== 'queue') return digest(key.digests, 'message-id', name.id);
  const { incarnation, sequence } = name;
  return digest(key.digests, 'message-id', { incarnation, sequence });
}

/** The id that an answer shows: without one of its own a message goes by its place in the queue (fallback 1.5). */
export function shownMessageId(name: MessageName): string {
  return name.kind === 'queue' ? `seq-${name.sequence}` : name.id;
}
