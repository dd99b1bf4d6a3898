import { createInbox, type Msg, type NatsConnection, type Subscription } from '@nats-io/nats-core';
import { z } from 'zod';
import { type BusFault, faultOf, faultOfCode } from './bus-error.ts';
import type { EventMessage } from './event-message.ts';

/** Why a window ended. `duplicate`: the broker claims to remember the id, which does not prove it stored. */
export type WindowFailure = BusFault | 'duplicate' | 'timeout';

export interface WindowLimits {
  readonly maxInFlight: number;
  /** Longest time without any answer while something is in flight. */
  readonly ackTimeoutMs: number;
}

const PLAIN_ACK = /^\{"stream":"[^"\\\\]{1,128}", ?"seq":\d{1,19}\}$/;

const PubAck = z.object({
  seq: z.int().nonnegative().optional(),
  duplicate: z.boolean().optional(),
  error: z.object({ err_code: z.int().optional() }).optional(),
});

/**
 * Publishes with many in flight over one reply subject and one timer (a request each would cost a timer and a
 * promise a message). The first failure ends the window: each later message names the one before it, so the
 * broker refuses them all, and whoever goes on has to look at the stream first.
 */
export class PublishWindow {
  #failure: WindowFailure | null = null;
  #sent = 0;
  readonly #positions = new Map<number, number>();
  readonly #inbox: string;
  readonly #replies: Subscription;
  readonly #watchdog: NodeJS.Timeout;
  readonly #waiting: (() => void)[] = [];

  constructor(
    private readonly connection: NatsConnection,
    inboxPrefix: string,
    private readonly limits: WindowLimits,
    private readonly onStored: (pos: number) => void,
    private readonly onFailure: () => void,
  ) {
    this.#inbox = createInbox(inboxPrefix);
    this.#replies = connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => (error === null ? this.#answer(message) : this.fail('unavailable')),
    });
    this.#watchdog = setTimeout(() => this.#overdue(), limits.ackTimeoutMs);
  }

  get failure(): WindowFailure | null {
    return this.#failure;
  }

  get isFull(): boolean {
    return this.#positions.size >= this.limits.maxInFlight;
  }

  /** There is room again, or the window has failed. */
  async untilRoom(): Promise<void> {
    while (this.#failure === null && this.isFull) await this.#change();
  }

  /**
   * Sends at once: what is sent in one turn of the event loop goes out in one write. False: the window has failed,
   * and this message was perhaps not sent.
   */
  send(message: EventMessage, pos: number): boolean {
    if (this.#failure !== null) return false;

    // The time without an answer begins with the first message that waits for one.
    if (this.#positions.size === 0) this.#watchdog.refresh();
    this.#sent += 1;
    this.#positions.set(this.#sent, pos);
    try {
      this.connection.publish(message.subject, message.body, {
        reply: `${this.#inbox}.${this.#sent}`,
        headers: message.headers,
      });
    } catch (error) {
      this.fail(faultOf(error));
    }
    return this.#failure === null;
  }

  /** All answered, or failed. */
  async settled(): Promise<void> {
    while (this.#failure === null && this.#positions.size > 0) await this.#change();
  }

  fail(failure: WindowFailure): void {
    if (this.#failure !== null) return;

    this.#failure = failure;
    this.#changed();
    this.onFailure();
  }

  /** Late answers are dropped; late messages are refused by the broker, or were the right next ones. */
  close(): void {
    clearTimeout(this.#watchdog);
    this.#replies.unsubscribe();
    this.#positions.clear();
    this.#changed();
  }

  #answer(reply: Msg): void {
    const token = Number(reply.subject.slice(this.#inbox.length + 1));
    const pos = this.#positions.get(token);
    if (pos === undefined) return;

    this.#positions.delete(token);
    this.#watchdog.refresh();
    const failure = failureOf(reply);
    if (failure !== null) this.fail(failure);
    // After a failure no later message of the window can have been stored.
    else if (this.#failure === null) this.onStored(pos);
    this.#changed();
  }

  #overdue(): void {
    if (this.#positions.size > 0) this.fail('timeout');
    else this.#watchdog.refresh();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #changed(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function failureOf(reply: Msg): WindowFailure | null {
  // "No responders": no stream listens on the subject.
  if (reply.headers?.code === 503) return 'missing_stream';

  // Nearly all answers: nothing in them has to be looked at.
  if (PLAIN_ACK.test(reply.string())) return null;

  const ack = PubAck.safeParse(readJson(reply));
  if (!ack.success) return 'unavailable';
  if (ack.data.error !== undefined) return faultOfCode(ack.data.error.err_code ?? 0);

  return ack.data.duplicate === true ? 'duplicate' : null;
}

function readJson(reply: Msg): unknown {
  try {
    return reply.json();
  } catch {
    return null;
  }
}
