import type { Command, LogReader, Partition } from '#domain/log';
import type { Log, ParkedStream, ParkReason } from '#domain/log-tables';
import type { RecordedEvent } from '#events/envelope';
import { slotOf } from '#events/envelope';
import { Halted, HandlerDeadline, isPassing, withDeadline } from './handler-failure.ts';

interface Options {
  readonly consumer: string;
  readonly partition: Partition;
  readonly log: Log;
  readonly handles: (event: RecordedEvent) => boolean;
  readonly handle: (event: RecordedEvent) => Promise<Command | null>;
  readonly handlerDeadlineMs: number;
  readonly triesMax: number;
  readonly forget: (stream: string) => void;
  readonly report: (report: {
    readonly kind: 'requeue_done';
    readonly stream: string;
    readonly pos: number;
  }) => void;
}

const REFRESH_MS = 1_000;
const READ_MAX = 64;
const LOST_RACES_MAX = 20;

/**
 * The allocations of one partition that wait for an operator. Their events pass by while the others flow; on
 * requeue or skip they are read again from the log, up to where the consumer stands (design 6).
 */
export class ParkedHere {
  readonly #options: Options;
  #rows = new Map<string, ParkedStream>();
  #refreshedAtMs = Number.NEGATIVE_INFINITY;
  /** Position that was counted and whose try ended by a fault of the world. */
  #openTry: number | null = null;

  constructor(options: Options) {
    this.#options = options;
  }

  holds(stream: string): boolean {
    return this.#rows.has(stream);
  }

  async load(): Promise<void> {
    const { consumer, partition, log } = this.#options;
    const rows = await log.parked.list(consumer);
    this.#rows = new Map(
      rows
        .filter((row) => slotOf(row.stream) % partition.count === partition.index)
        .map((row) => [row.stream, row]),
    );
    this.#refreshedAtMs = performance.now();
  }

  async park(event: RecordedEvent, tries: number, reason: ParkReason): Promise<void> {
    const { consumer, log } = this.#options;
    await log.parked.park({ consumer, stream: event.stream, firstPos: event.pos, reason, tries });
    await this.load();
  }

  /** Works off what an operator has let go since the last look, up to and including position `upTo`. */
  async workOff(upTo: number): Promise<void> {
    if (performance.now() - this.#refreshedAtMs < REFRESH_MS) return;
    await this.load();
    for (const row of this.#rows.values()) {
      if (row.state !== 'parked') await this.#catchUp(row, upTo);
    }
  }

  async #catchUp(row: ParkedStream, upTo: number): Promise<void> {
    const { log, consumer, handles, report } = this.#options;
    const first = await log.at(row.firstPos);
    if (first === null) throw new Error(`the log has no position ${row.firstPos} that parked an allocation`);
    let version = first.streamVersion - (row.state === 'skipped' ? 0 : 1);
    for (;;) {
      const events = await this.#readOn(log, row.stream, version, upTo);
      if (events.length === 0) break;
      for (const event of events) {
        if (handles(event) && !(await this.#again(event))) return;
        version = event.streamVersion;
      }
    }
    await log.parked.clear(consumer, row.stream);
    this.#rows.delete(row.stream);
    report({ kind: 'requeue_done', stream: row.stream, pos: upTo });
  }

  async #readOn(log: LogReader, stream: string, version: number, upTo: number) {
    const events = await log.readStream(stream, version, READ_MAX);
    return events.filter((event) => event.pos <= upTo);
  }

  /** False when the event failed again: the allocation is parked at it. */
  async #again(event: RecordedEvent): Promise<boolean> {
    const { log, consumer, partition, triesMax } = this.#options;
    // Counted before it runs, like any other: a handler that ends its process each time is parked again.
    if (this.#openTry === event.pos) await log.tries.clear(consumer, partition.index, event.pos);
    this.#openTry = event.pos;
    const tries = await log.tries.count(consumer, partition.index, event.pos);
    const failure = tries > triesMax ? ('poison' as const) : await this.#failureOf(event);
    this.#openTry = null;
    await log.tries.clear(consumer, partition.index, event.pos);
    if (failure === null) return true;

    // One statement: between a removal and a new row a killed process would lose the allocation.
    await log.parked.parkAgain({
      consumer,
      stream: event.stream,
      firstPos: event.pos,
      reason: failure,
      tries,
    });
    await this.load();
    return false;
  }

  /** Handles and appends one event; null when that went well. Rejects with a fault that is not the event's. */
  async #failureOf(event: RecordedEvent): Promise<ParkReason | null> {
    const { log, handle, handlerDeadlineMs, forget } = this.#options;
    for (let lostRaces = 0; lostRaces < LOST_RACES_MAX; lostRaces += 1) {
      forget(event.stream);
      try {
        const command = await withDeadline(handle(event), handlerDeadlineMs);
        if (command === null) return null;
        const [result] = await log.append([command]);
        if (result?.outcome === 'appended' || result?.outcome === 'duplicate') return null;
        if (result?.outcome !== 'wrong_version') break;
      } catch (error) {
        forget(event.stream);
        if (isPassing(error)) throw error;
        return reasonOf(error);
      }
    }
    forget(event.stream);
    return 'poison';
  }
}

function reasonOf(error: unknown): ParkReason {
  if (error instanceof Halted) return 'newer_version';
  return error instanceof HandlerDeadline ? 'deadline' : 'poison';
}
