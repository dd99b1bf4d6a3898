import type { BusDelivery, BusFeed } from '#domain/bus';
import type { AppendResult, Command } from '#domain/log';
import type { Log } from '#domain/log-tables';
import type { RecordedEvent } from '#events/envelope';
import { Consumer } from '#messaging/consumer';
import { LogTail } from '#messaging/log-tail';
import type { WorkerReport } from '#messaging/partition-worker';
import type { WorkerBounds } from '#messaging/worker-bounds';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { command, event } from './log-builders.ts';

/** What a scripted handler does with one event. A function runs first; a value that is no plan is no command. */
export type Plan = 'decide' | 'nothing' | 'hang' | Error;

export interface BenchOptions {
  readonly partitions?: number;
  readonly consumer?: string;
  readonly holder?: string;
  readonly bounds?: Partial<WorkerBounds>;
  readonly feed?: BusFeed;
  /** Asked each time the handler is called. `calls` counts this call. */
  readonly plan?: (event: RecordedEvent, calls: number) => Plan | Promise<Plan>;
  readonly handles?: (event: RecordedEvent) => boolean;
  /** The tail asks for the head so often by itself. */
  readonly tailCheckMs?: number;
}

/** Quick waits, small batches; the deadline is one that a busy machine keeps. */
export const QUICK: Partial<WorkerBounds> = {
  batchMax: 8,
  triesMax: 3,
  handlerDeadlineMs: 5_000,
  lazyCheckpointMs: 20,
  retryMinMs: 1,
  retryMaxMs: 20,
};

export const INPUT_TYPE = 'AttemptReported';
const CAUGHT_UP_BOUND_MS = 15_000;

/** An input of a stream, appended; the row as it is in the log. */
export async function report(log: Log, stream: string, count = 1): Promise<readonly RecordedEvent[]> {
  const rows: RecordedEvent[] = [];
  for (let index = 0; index < count; index += 1) {
    const [result] = await log.append([command({ stream, events: [event(INPUT_TYPE)] })]);
    rows.push(await rowAt(log, firstPosOf(result)));
  }
  return rows;
}

/** Somebody else's decision on the stream, which moves its version. */
export async function decideBeside(log: Log, stream: string): Promise<void> {
  firstPosOf((await log.append([command({ stream, events: [event('Renewed', 'decision')] })]))[0]);
}

export async function rowAt(log: Log, pos: number): Promise<RecordedEvent> {
  const row = await log.at(pos);
  if (row === null) throw new Error(`the log has no position ${pos}`);
  return row;
}

export async function allRows(log: Log): Promise<readonly RecordedEvent[]> {
  return log.readAfter(0, 100_000);
}

/** For each stream: the inputs in their order, and the inputs that its decisions were made on in theirs. */
export async function orderOf(log: Log, stream: string) {
  const rows = await log.readStream(stream, 0, 10_000);
  return {
    inputs: rows.filter((row) => row.type === INPUT_TYPE).map((row) => row.eventId),
    decided: rows.filter((row) => row.type === 'Decided').map(causeOf),
  };
}

/** A consumer in this process whose handler does what the test says: one decision an input, once. */
export class Bench {
  readonly reports: WorkerReport[] = [];
  /** Every call of the handler, in order. */
  readonly calls: RecordedEvent[] = [];
  readonly consumer: Consumer;
  readonly tail: LogTail;
  readonly #versions = new Map<string, number>();
  readonly #perPos = new Map<number, number>();
  #stopped = false;

  constructor(
    readonly log: Log,
    readonly options: BenchOptions = {},
  ) {
    this.tail = new LogTail({
      log,
      batchMax: 64,
      checkMs: options.tailCheckMs ?? 1_000,
      onReadFailed: () => undefined,
      onWentBack: () => this.reports.push({ kind: 'retrying', error: new Error('the log went back') }),
    });
    this.consumer = new Consumer({
      consumer: this.name,
      partitions: options.partitions ?? 1,
      log,
      tail: this.tail,
      ...(options.feed === undefined ? {} : { feed: options.feed }),
      holder: options.holder ?? `holder-${Math.random()}`,
      handles: options.handles ?? ((row) => row.type === INPUT_TYPE),
      handle: (row) => this.#handle(row),
      forget: (stream) => this.#versions.delete(stream),
      report: (given) => this.reports.push(given),
      bounds: { ...QUICK, ...options.bounds },
    });
  }

  get name(): string {
    return this.options.consumer ?? 'bench';
  }

  async start(): Promise<this> {
    await this.tail.start();
    await this.consumer.start();
    return this;
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    await this.consumer.stop();
    await this.tail.stop();
  }

  kinds(): readonly string[] {
    return this.reports.map((given) => given.kind);
  }

  foreign(): readonly number[] {
    return this.reports.flatMap((given) => (given.kind === 'foreign_message' ? [given.pos] : []));
  }

  /** How often the handler was called for events of the stream. */
  callsOf(stream: string): number {
    return this.calls.filter((row) => row.stream === stream).length;
  }

  async reported(kind: WorkerReport['kind'], boundMs = 10_000): Promise<void> {
    const what = () => this.kinds().includes(kind);
    await waitUntil(`${this.name} reports ${kind}`, boundMs, what);
  }

  async stored(partition = 0): Promise<number> {
    return (await this.log.checkpoints.read(this.name, partition))?.pos ?? 0;
  }

  /** Until every partition's stored checkpoint has passed the newest input. */
  async caughtUp(boundMs = CAUGHT_UP_BOUND_MS): Promise<void> {
    const partitions = this.options.partitions ?? 1;
    await waitUntil(`${this.name} is caught up`, boundMs, async () => {
      const rows = await allRows(this.log);
      const checkpoints = await this.log.checkpoints.all();
      return Array.from({ length: partitions }, (_, index) => index).every((index) => {
        const newest = rows.findLast((row) => row.slot % partitions === index && row.type === INPUT_TYPE);
        const stored = checkpoints.find((row) => row.consumer === this.name && row.partition === index);
        return newest === undefined || (stored?.pos ?? 0) >= newest.pos;
      });
    });
  }

  async #handle(row: RecordedEvent): Promise<Command | null> {
    this.calls.push(row);
    const calls = (this.#perPos.get(row.pos) ?? 0) + 1;
    this.#perPos.set(row.pos, calls);
    const plan = (await this.options.plan?.(row, calls)) ?? 'decide';
    if (plan === 'hang') return new Promise(() => undefined);
    if (plan instanceof Error) throw plan;
    if (plan === 'nothing') return null;

    const version = this.#versions.get(row.stream) ?? (await this.log.decisionVersion(row.stream)) ?? 0;
    this.#versions.set(row.stream, version + 1);
    return decisionOn(row, version);
  }
}

/** The one decision about an input, whoever makes it and however often. */
export function decisionOn(row: RecordedEvent, version: number): Command {
  return {
    commandId: `decide-${row.eventId}`,
    digest: row.eventId,
    stream: row.stream,
    expected: { decisionVersion: version },
    occurredAt: row.occurredAt,
    events: [
      {
        event: { type: 'Decided', version: 1, role: 'decision', data: {} },
        meta: { causedBy: row.eventId, saw: version },
      },
    ],
  };
}

/** The log with some of its members replaced. */
export function withMembers(log: Log, replaced: Partial<Log>): Log {
  return new Proxy(log, {
    get(target, key) {
      const value = Reflect.get(key in replaced ? replaced : target, key);
      return typeof value === 'function' && !(key in replaced) ? value.bind(target) : value;
    },
  });
}

/** A bus under the test's control. */
export class ScriptedFeed implements BusFeed {
  acked: number[] = [];
  readonly #listeners = new Map<number, (delivery: BusDelivery) => void>();

  subscribe(partition: number, onDelivery: (delivery: BusDelivery) => void): () => void {
    this.#listeners.set(partition, onDelivery);
    return () => this.#listeners.delete(partition);
  }

  deliver(row: RecordedEvent, previousPos: number, partition = 0): void {
    const ack = () => this.acked.push(row.pos);
    this.#listeners.get(partition)?.({ event: row, previousPos, ack });
  }
}

function causeOf(row: RecordedEvent): string {
  const meta: unknown = JSON.parse(row.meta);
  if (typeof meta !== 'object' || meta === null || !('causedBy' in meta)) return '';
  return typeof meta.causedBy === 'string' ? meta.causedBy : '';
}

function firstPosOf(result: AppendResult | undefined): number {
  if (result?.outcome !== 'appended') throw new Error(`expected appended, got ${result?.outcome}`);
  return result.firstPos;
}
