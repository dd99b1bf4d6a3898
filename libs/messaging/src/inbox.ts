import type { JsMsg } from '@nats-io/jetstream';
import type { Answers } from './answers.ts';
import type { Bus } from './connect-bus.ts';
import { DurablePull, type PullLimits, type PullTrouble } from './durable-pull.ts';
import { atMost, Slots } from './slots.ts';
import {
  type DurableLimits,
  type InputName,
  inputDurable,
  inputStreamSettings,
  type Topology,
} from './topology.ts';

/** The header with which a publisher names its message; `Nats-Msg-Id` would drop another body with the same id. */
export const MESSAGE_ID_HEADER = 'Spillway-Message-Id';

/** One message of the work queue, as it came: nothing of it is parsed yet. */
export interface InputMessage {
  readonly name: InputName;
  readonly subject: string;
  readonly body: Uint8Array;
  /** The publisher's id; null without one, or with an empty one. */
  readonly messageId: string | null;
  /**
   * What tells this message from any other that had or will have its sequence, also after the queue was wiped
   * or rolled back: the nanosecond at which the broker stored it. The same in every redelivery.
   */
  readonly incarnation: string;
  readonly sequence: number;
  /** 1 for the first delivery, by the broker's count: a hint, and too low when a delivery reached nobody. */
  readonly deliveries: number;
  readonly redelivered: boolean;
}

/**
 * `done`: appended (or known already); the answer is the HTTP body of the same call. `refused`: the dead-letter
 * row is written. `retry`: the log cannot be reached, or the caller is over its limit.
 */
export type InputOutcome =
  | { readonly kind: 'done'; readonly answer: object | null }
  | { readonly kind: 'refused'; readonly problem: object }
  | { readonly kind: 'retry'; readonly afterMs: number };

/** Must be safe to call twice with one message. The signal is raised when it is given up on. */
export type HandleInput = (message: InputMessage, given: AbortSignal) => Promise<InputOutcome>;

export interface InboxPorts {
  readonly bus: Bus;
  readonly topology: Topology;
  /** Name of the taking app; one app a name, since a work queue hands a message to one durable only. */
  readonly app: string;
  readonly name: InputName;
  readonly handle: HandleInput;
  readonly answers: Answers;
  /** Told the class of an error, or that a handler hung; never a text. */
  readonly onFailure?: (failure: InputFailure) => void;
  readonly onTrouble?: (trouble: PullTrouble) => void;
}

export interface InputFailure {
  readonly name: InputName;
  readonly sequence: number;
  readonly deliveries: number;
  readonly failure: 'threw' | 'hung';
  readonly errorName: string | null;
}

export interface InboxLimits extends PullLimits, DurableLimits {
  /** Handlers at once. */
  readonly maxConcurrent: number;
  /** A handler that takes longer is given up on, and its message comes again. */
  readonly deadlineMs: number;
  /** Wait before a failed message comes again; doubles with each delivery. */
  readonly retryMessageMinMs: number;
  readonly retryMessageMaxMs: number;
}

export const INBOX_LIMITS: InboxLimits = {
  maxBuffered: 32,
  checkMs: 1_000,
  retryMinMs: 50,
  retryMaxMs: 2_000,
  ackWaitMs: 30_000,
  maxUnsettled: 256,
  maxConcurrent: 64,
  deadlineMs: 30_000,
  retryMessageMinMs: 500,
  retryMessageMaxMs: 30_000,
};

/**
 * Takes one kind of input from the work queue (fallback 1.5). A message is acknowledged after its handler is
 * done, and not before; whatever happens otherwise, it comes again.
 */
export class Inbox {
  readonly #limits: InboxLimits;
  readonly #slots: Slots;
  readonly #pull: DurablePull;
  readonly #handling = new Set<Promise<void>>();
  readonly #running = new Set<AbortController>();
  #abandoned = 0;
  #stopped = false;

  constructor(
    private readonly ports: InboxPorts,
    limits: Partial<InboxLimits> = {},
  ) {
    this.#limits = { ...INBOX_LIMITS, ...limits };
    this.#slots = new Slots(this.#limits.maxConcurrent);
    const { bus, topology, app, name, onTrouble } = ports;
    this.#pull = new DurablePull(
      {
        bus,
        stream: inputStreamSettings(topology),
        durable: () => Promise.resolve(inputDurable(topology, app, name, this.#limits)),
        onMessage: async (message) => {
          await this.#slots.take();
          if (this.#stopped) {
            this.#slots.give();
            send(() => message.nak());
            return;
          }
          const handling = this.#settle(message).finally(() => {
            this.#slots.give();
            this.#handling.delete(handling);
          });
          this.#handling.add(handling);
        },
        ...(onTrouble === undefined ? {} : { onTrouble }),
      },
      this.#limits,
    );
  }

  /** True while the queue is being read from. */
  get consuming(): boolean {
    return this.#pull.consuming;
  }

  /** Handlers that were given up on and have not returned: they hold memory, and what else they took. */
  get abandoned(): number {
    return this.#abandoned;
  }

  /** Takes no more, and waits for running handlers, at most `drainMs`; what they had comes again. */
  async stop(drainMs = 5_000): Promise<void> {
    this.#stopped = true;
    const pulled = this.#pull.stop();
    await atMost(
      pulled.then(() => Promise.all(this.#handling)),
      drainMs,
    );
    // Else the keep-alive of a handler that hangs would hold its message until the deadline.
    for (const given of this.#running) given.abort();
    await pulled;
    await Promise.all(this.#handling);
  }

  /** Never throws. */
  async #settle(message: JsMsg): Promise<void> {
    const input = inputOf(this.ports.name, message);
    const outcome = await this.#handle(message, input);
    const { answers } = this.ports;
    switch (outcome.kind) {
      case 'done':
        if (outcome.answer !== null) answers.publish(input, outcome.answer);
        send(() => message.ack());
        return;
      case 'refused':
        answers.publish(input, outcome.problem);
        send(() => message.ack());
        return;
      case 'retry':
        send(() => message.nak(outcome.afterMs));
    }
  }

  async #handle(message: JsMsg, input: InputMessage): Promise<InputOutcome> {
    const { deadlineMs, ackWaitMs } = this.#limits;
    const given = new AbortController();
    this.#running.add(given);
    const givenUp = new Promise<'given up'>((resolve) => {
      given.signal.addEventListener('abort', () => resolve('given up'), { once: true });
    });
    const keepAlive = setInterval(() => send(() => message.working()), Math.max(50, ackWaitMs / 3));
    const deadline = setTimeout(() => given.abort(), deadlineMs);
    try {
      const running = this.ports.handle(input, given.signal);
      const outcome = await Promise.race([running, givenUp]);
      if (outcome !== 'given up') return outcome;

      this.#abandoned += 1;
      const back = () => {
        this.#abandoned -= 1;
      };
      running.then(back, back);
      return this.#stopped ? { kind: 'retry', afterMs: 0 } : this.#failed(input, 'hung', null);
    } catch (error) {
      return this.#failed(input, 'threw', error instanceof Error ? error.name : 'unknown');
    } finally {
      clearInterval(keepAlive);
      clearTimeout(deadline);
      this.#running.delete(given);
    }
  }

  #failed(input: InputMessage, failure: 'threw' | 'hung', errorName: string | null): InputOutcome {
    const { name, sequence, deliveries } = input;
    this.ports.onFailure?.({ name, sequence, deliveries, failure, errorName });
    const { retryMessageMinMs, retryMessageMaxMs } = this.#limits;
    return {
      kind: 'retry',
      afterMs: Math.min(retryMessageMaxMs, retryMessageMinMs * 2 ** Math.min(20, deliveries - 1)),
    };
  }
}

function inputOf(name: InputName, message: JsMsg): InputMessage {
  const messageId = message.headers?.get(MESSAGE_ID_HEADER) ?? '';
  const { deliveryCount } = message.info;
  return {
    name,
    subject: message.subject,
    body: message.data,
    messageId: messageId === '' ? null : messageId,
    incarnation: String(message.timestampNanos),
    sequence: message.seq,
    deliveries: deliveryCount,
    redelivered: deliveryCount > 1,
  };
}

/** A connection that closes meanwhile refuses the publish; the message then comes again. */
function send(settling: () => void): void {
  try {
    settling();
  } catch {
    // Comes again after ack_wait, and its handler is safe to call twice.
  }
}
