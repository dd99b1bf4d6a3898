import { type DigestLabel, digest } from '../digest.ts';
import type { RingKey } from '../key-ring.ts';

/** Keyed digests of one stream: under the digest sub-key of the ring key that its ref was made with. */
export type StreamDigest = (label: DigestLabel, value: unknown) => string;

export function streamDigest(key: RingKey): StreamDigest {
  return (label, value) => digest(key.digests, label, value);
}

/** What a question needs that no rule can know: its time, keyed digests, and the token's life in seconds. */
export interface QuestionContext {
  /** `logical_allocation_ref` of the stream. */
  readonly ref: string;
  readonly askedAt: string;
  readonly tokenLifeS: number;
  readonly digestOf: StreamDigest;
}

export interface EscalationContext {
  readonly question: QuestionContext;
  /** Id that the event at this place of the returned facts will have; 0 = the first of them. */
  readonly eventIdAt: (index: number) => string;
}
