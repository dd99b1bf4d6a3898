import { timingSafeEqual } from 'node:crypto';
import { digest } from './digest.ts';
import type { KeyRing, RingKey } from './key-ring.ts';

const ID_CHARS = 26;
const PROOF_CHARS = 32;

/** Path of the answers to attempts, launches and observations, without the origin. */
export const RESULTS_PATH = '/api/agent/gpu-allocation/results';

/**
 * The `location` of the answer to an input. An event id alone is no location: auditors see event ids, and an
 * answer may hold a token, so the path carries a proof under the key (fallback 1.1).
 */
export function locationOf(inputEventId: string, ring: KeyRing): string {
  return `${RESULTS_PATH}/${inputEventId}${proof(inputEventId, ring.newest)}`;
}

/** The input that a location stands for; null for one that was never given out. */
export function inputOfLocation(opaque: string, ring: KeyRing): string | null {
  if (opaque.length !== ID_CHARS + PROOF_CHARS) return null;
  const inputEventId = opaque.slice(0, ID_CHARS);
  const given = Buffer.from(opaque.slice(ID_CHARS));
  const known = ring.newestFirst.some((key) => {
    const expected = Buffer.from(proof(inputEventId, key));
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  return known ? inputEventId : null;
}

function proof(inputEventId: string, key: RingKey): string {
  return digest(key.tokens, 'location', inputEventId).slice(0, PROOF_CHARS);
}
