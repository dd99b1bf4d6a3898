import { timingSafeEqual } from 'node:crypto';
import { digest } from '#domain/digest';
import type { KeyRing, RingKey } from '#domain/key-ring';

const ID_CHARS = 26;
const PROOF_CHARS = 32;

/** Path of the answer to an attempt, without the origin. */
export const RESULTS_PATH = '/api/agent/gpu-allocation/results';

/**
 * The `location` of an attempt's answer. An event id alone is no location: auditors see event ids, and an answer
 * may hold a token, so the path carries a proof under the key (fallback 1.1).
 */
export function locationOf(attemptEventId: string, ring: KeyRing): string {
  return `${RESULTS_PATH}/${attemptEventId}${proof(attemptEventId, ring.newest)}`;
}

/** The attempt that a location stands for; null for one that was never given out. */
export function attemptOfLocation(opaque: string, ring: KeyRing): string | null {
  if (opaque.length !== ID_CHARS + PROOF_CHARS) return null;
  const attemptEventId = opaque.slice(0, ID_CHARS);
  const given = Buffer.from(opaque.slice(ID_CHARS));
  const known = ring.newestFirst.some((key) => {
    const expected = Buffer.from(proof(attemptEventId, key));
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  return known ? attemptEventId : null;
}

function proof(attemptEventId: string, key: RingKey): string {
  return digest(key.tokens, 'location', attemptEventId).slice(0, PROOF_CHARS);
}
