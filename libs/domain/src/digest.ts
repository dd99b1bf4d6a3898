import { createHmac } from 'node:crypto';
import { canonicalJson } from '#events/canonical-json';

/** The closed set of digest labels (fallback 5). A label keeps digests of different things apart. */
export type DigestLabel =
  | 'allocation-ref'
  | 'request'
  | 'fingerprint'
  | 'evidence'
  | 'action'
  | 'failure'
  | 'caller'
  | 'attempt-id'
  | 'attempt-body'
  | 'answer-id'
  | 'answer-body'
  | 'message-id'
  | 'message-body'
  | 'launch-body'
  | 'observation-body'
  | 'workload'
  | 'failover-action'
  | 'failover-evidence'
  | 'failed-instance'
  | 'plan'
  | 'location';

/**
 * HMAC-SHA-256 over the RFC 8785 canonical JSON of {kind, value}, as 64 lower-case hex digits (fallback 5).
 * Key order and spacing of what was sent therefore never matter.
 */
export function digest(subKey: Uint8Array, kind: DigestLabel, value: unknown): string {
  return createHmac('sha256', subKey).update(canonicalJson({ kind, value })).digest('hex');
}
