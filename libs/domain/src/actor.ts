import { digest } from './digest.ts';
import type { RingKey } from './key-ring.ts';

/** Everyone's subject while authentication is off. */
export const LOCAL_SUBJECT = 'local';

/** Who reported or answered, as it is recorded: a name of ours as it is, a caller's as a digest (fallback 7). */
export function actorOf(subject: string, key: RingKey): string {
  return subject === LOCAL_SUBJECT ? LOCAL_SUBJECT : digest(key.digests, 'caller', subject);
}
