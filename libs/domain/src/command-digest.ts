import { createHash } from 'node:crypto';

/**
 * Digest by which a repeated command is told from another one with the same id: over what the sender meant,
 * never over time, trace or nonce (design 5). 64 lower-case hex digits.
 */
export function commandDigest(
  kind: 'attempt' | 'launch' | 'observation' | 'decide' | 'renew' | 'answer' | 'admin' | 'provision',
  meant: string,
): string {
  return createHash('sha256').update(`${kind}\n${meant}`).digest('hex');
}
