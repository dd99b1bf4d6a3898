import type { ConsumerMessages, JetStreamManager, JsMsg } from '@nats-io/jetstream';
import { type BusFault, faultOf } from './bus-error.ts';
import type { Bus } from './connect-bus.ts';
import { durableOrNull, ensureDurable, ensureStream, TopologyRefused } from './ensure-topology.ts';
import type { DurableSettings, StreamSettings } from './topology.ts';
import { BackOff, Wake } from './wake.ts';

export interface DurablePorts {
  readonly bus: Bus;
  readonly stream: StreamSettings;
  /** Asked for each time the durable has to be made. */
  readonly durable: (manager: JetStreamManager) => Promise<DurableSettings>;
  /** Awaited before the next message is taken. Must not throw. */
  readonly onMessage: (message: JsMsg) => void | Promise<void>;
  readonly onTrouble?: (trouble: PullTrouble) => void;
}

/** `gone`: stream or durable vanished. `deaf`: the broker lost messages that the durable counts as delivered. */
export type PullTrouble = BusFault | 'gone' | 'deaf' | 'refused';

export interface PullLimits {
  /** Asked for and not yet taken, in messages. */
  readonly maxBuffered: number;
  /** Stream and durable are looked at this often: a consume loop notices neither's loss. */
  readonly checkMs: number;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
}

/**
 * Takes messages from a durable for ever. When stream or durable vanish (a wiped broker leaves a consume loop
 * silent, and it looks healthy), or when the durable stands beyond the stream's end (a broker that came back
 * with an older copy), both are made again, without a restart.
 */
export class DurablePull {
  #stopped = false;
  #consuming = false;
  readonly #wake = new Wake();
  readonly #endWatch: () => void;
  readonly #running: Promise<void>;

  constructor(
    private readonly ports: DurablePorts,
    private readonly limits: PullLimits,
  ) {
    this.#endWatch = ports.bus.onState(() => this.#wake.ring());
    this.#running = this.#run();
  }

  get consuming(): boolean {
    return this.#consuming;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#endWatch();
    this.#wake.ring();
    await this.#running;
  }

  async #run(): Promise<void> {
    const backOff = new BackOff(this.limits.retryMinMs, this.limits.retryMaxMs);
    while (!this.#stopped) {
      if (!this.ports.bus.connected) {
        await this.#wake.wait(this.limits.checkMs);
        continue;
      }
      try {
        await this.#consume();
        backOff.reset();
      } catch (error) {
        this.ports.onTrouble?.(error instanceof TopologyRefused ? 'refused' : faultOf(error));
      }
      if (!this.#stopped) await this.#wake.wait(backOff.nextMs());
    }
  }

  async #consume(): Promise<void> {
    const { bus, stream, durable } = this.ports;
    const { epoch } = bus;
    const manager = bus.manager();
    await ensureStream(manager, stream);
    const found = await ensureDurable(manager, stream.name, await durable(manager));
    if (found.delivered.stream_seq > (await manager.streams.info(stream.name)).state.last_seq) {
      await this.#replaceDeaf(manager, found.name);
      return;
    }
    const messages = await manager
      .jetstream()
      .consumers.getConsumerFromInfo(found)
      .consume({ max_messages: this.limits.maxBuffered, expires: 30_000, idle_heartbeat: 1_000 });
    // At once, before the client reconnects: it would ask for messages that nobody takes any more, and the
    // broker would count them as delivered until ack_wait has passed.
    const endStop = bus.onState(() => messages.stop());
    const taking = this.#take(messages);
    try {
      this.#consuming = true;
      let ended = false;
      void taking.then(() => {
        ended = true;
        this.#wake.ring();
      });
      while (!this.#stopped && !ended && bus.connected && bus.epoch === epoch) {
        await this.#wake.wait(this.limits.checkMs);
        if (this.#stopped || !bus.connected) break;
        if (!(await this.#isSound(manager, found.name, found.created))) break;
      }
    } finally {
      this.#consuming = false;
      // Closing waits for the iteration's end, which may be waiting for a handler.
      endStop();
      messages.stop();
      await taking;
    }
  }

  /** Ends when the messages are stopped, by us or by the client. */
  async #take(messages: ConsumerMessages): Promise<void> {
    try {
      for await (const message of messages) {
        if (this.#stopped) message.nak();
        else await this.ports.onMessage(message);
      }
    } catch (error) {
      this.ports.onTrouble?.(faultOf(error));
    }
  }

  async #isSound(manager: JetStreamManager, durable: string, created: string): Promise<boolean> {
    const { name } = this.ports.stream;
    const found = await durableOrNull(manager, name, durable);
    if (found?.created !== created) {
      this.ports.onTrouble?.('gone');
      return false;
    }
    if (found.delivered.stream_seq <= (await manager.streams.info(name)).state.last_seq) return true;

    await this.#replaceDeaf(manager, durable);
    return false;
  }

  async #replaceDeaf(manager: JetStreamManager, durable: string): Promise<void> {
    this.ports.onTrouble?.('deaf');
    await manager.consumers.delete(this.ports.stream.name, durable);
  }
}
