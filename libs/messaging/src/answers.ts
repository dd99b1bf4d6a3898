import { createHash } from 'node:crypto';
import { base32 } from '#events/envelope';
import type { Bus } from './connect-bus.ts';
import type { Topology } from './topology.ts';

/** Of which message the answer is. */
export interface Answered {
  /** The publisher's id; null without one. */
  readonly messageId: string | null;
  /** Of the message in the work queue; the publisher has it from its acknowledgement. */
  readonly sequence: number;
}

/** The bus user of callers while the bus has no authentication (fallback 1.5). */
export const LOCAL_CALLER = 'local';

const CALLER = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * `<prefix>.out.<caller>.<hash>`. The id goes in hashed, and a caller's name that is no plain word, too:
 * nothing that a caller wrote stands in a subject.
 */
export function answerSubject(topology: Topology, caller: string, { messageId, sequence }: Answered): string {
  const token = CALLER.test(caller) ? caller : hashed(caller);
  return `${topology.prefix}.out.${token}.${hashed(messageId ?? `seq-${sequence}`)}`;
}

/**
 * Sends answers best effort (fallback 1.5): the log is the durable record, and the same id sent again gets the
 * same answer. Never throws, keeps nothing.
 */
export class Answers {
  #sent = 0;
  #dropped = 0;

  constructor(
    private readonly bus: Bus,
    private readonly topology: Topology,
    private readonly caller: string = LOCAL_CALLER,
  ) {}

  get counters(): { readonly sent: number; readonly dropped: number } {
    return { sent: this.#sent, dropped: this.#dropped };
  }

  /** False when it was dropped: no connection, or above the broker's limit. */
  publish(to: Answered, body: object): boolean {
    try {
      this.bus.connection().publish(answerSubject(this.topology, this.caller, to), JSON.stringify(body));
      this.#sent += 1;
      return true;
    } catch {
      this.#dropped += 1;
      return false;
    }
  }
}

function hashed(text: string): string {
  return base32(createHash('sha256').update(text, 'utf8').digest(), 26);
}
