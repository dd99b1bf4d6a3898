import { createHash } from 'node:crypto';
import type { EventRole } from './define-event.ts';

/** The hash input's layout (see libs/event-log/src/chain.ts). A new layout is a new format byte. */
export const FORMAT = 1;

/** One row of the log as it is stored. `body` and `meta` are exact RFC 8785 text: bytes in = bytes out. */
export interface RecordedEvent {
  /** Dense, in commit order, from 1. */
  readonly pos: number;
  readonly stream: string;
  /** Dense within the stream, from 1. */
  readonly streamVersion: number;
  /** Decisions and facts in this stream up to and including this row (0 before the first). */
  readonly decisionVersion: number;
  readonly eventId: string;
  readonly commandId: string;
  readonly commandIndex: number;
  /** Of the whole command's known content: a repeat carries the same one. */
  readonly commandDigest: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly role: EventRole;
  /** 16-bit hash of the stream; partition = slot modulo the number of partitions. */
  readonly slot: number;
  /** Domain time. */
  readonly occurredAt: string;
  /** The store's clock; never goes back along `pos`. */
  readonly recordedAt: string;
  readonly body: string;
  readonly meta: string;
  readonly format: number;
  /** 64 hex digits; 64 zeros before position 1. */
  readonly prevHash: string;
  readonly hash: string;
}

/** What a row says about itself beside its body. */
export interface EventMeta {
  /** Event id of the input that caused this row; null for an input of its own. */
  readonly causedBy: string | null;
  /** The decision version that the decision saw; null for inputs. */
  readonly saw: number | null;
}

export const ZERO_HASH = '0'.repeat(64);

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** Lower-case base32 (RFC 4648 alphabet, no padding) of the leading bits, cut to `length` characters. */
export function base32(bytes: Uint8Array, length: number): string {
  let text = '';
  let buffered = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffered = ((buffered << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5 && text.length < length) {
      bits -= 5;
      text += BASE32[(buffered >> bits) & 31];
    }
  }
  if (bits > 0 && text.length < length) text += BASE32[(buffered << (5 - bits)) & 31];
  return text;
}

/**
 * The id of the `index`-th event of a command: derived, so that a repeated command names the same events
 * whoever sends it, and as hard to guess as the command id.
 */
export function eventIdOf(commandId: string, index: number): string {
  return base32(createHash('sha256').update(`event\n${commandId}\n${index}`).digest(), 26);
}

/** 16-bit hash of a stream name, the same in every process and version. */
export function slotOf(stream: string): number {
  return createHash('sha256').update(`slot\n${stream}`).digest().readUInt16BE(0);
}
