import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { lastValueFrom, type Observable, throwError } from 'rxjs';
import type { BusFeed } from '#domain/bus';
import type { Command } from '#domain/log';
import type { Log } from '#domain/log-tables';
import type { ConsumedBy, EventType, KnownEvent } from '#events/catalogue';
import type { AppName } from '#events/define-event';
import type { RecordedEvent } from '#events/envelope';
import { isFromNewerVersion, readEvent, UnreadableEvent } from '#events/upcast';
import { Consumer } from './consumer.ts';
import { Halted } from './handler-failure.ts';
import type { LogTail } from './log-tail.ts';
import type { WorkerReport } from './partition-worker.ts';
import type { WorkerBounds } from './worker-bounds.ts';

/** What a handler gets: the event of that type, read with today's definition. */
export type EventOfType<Type extends EventType> = Extract<KnownEvent, { type: Type }>;

/**
 * The handlers that an app must have: one per event that names it in `consumedBy`. A handler returns what to
 * append, or null; the transport appends it together with the checkpoint.
 */
export type HandlersFor<App extends AppName> = {
  [Type in ConsumedBy<App> as `on${Type}`]: (event: EventOfType<Type>) => Promise<Command | null>;
};

export interface LogTransportOptions {
  readonly consumer: AppName;
  readonly partitions: number;
  readonly log: Log;
  readonly tail: LogTail;
  readonly feed?: BusFeed;
  readonly holder: string;
  readonly forget: (stream: string) => void;
  readonly report: (report: WorkerReport, partition: number) => void;
  readonly bounds?: Partial<WorkerBounds>;
}

/**
 * The event transport of a Nest hybrid application (design 3, 6): `@EventPattern(type)` methods are called in
 * the order of the log, and what they return is appended with the consumer's checkpoint.
 */
export class LogTransport extends Server implements CustomTransportStrategy {
  readonly #options: LogTransportOptions;
  #consumer: Consumer | null = null;

  constructor(options: LogTransportOptions) {
    super();
    this.#options = options;
  }

  get consumer(): Consumer | null {
    return this.#consumer;
  }

  override listen(ready: (error?: unknown) => void): void {
    this.#consumer = new Consumer({
      ...this.#options,
      handles: (event) => this.messageHandlers.has(event.type) || isFromNewerVersion(event),
      handle: (event) => this.#handle(event),
    });
    this.#consumer.start().then(
      () => ready(),
      (error: unknown) => ready(error),
    );
  }

  override async close(): Promise<void> {
    await this.#consumer?.stop();
  }

  override on(): void {
    throw new Error('the event transport has no events of its own');
  }

  override unwrap<T>(): T {
    throw new Error('the event transport has no broker to unwrap');
  }

  async #handle(row: RecordedEvent): Promise<Command | null> {
    const event = readable(row);
    const handler = this.messageHandlers.get(event.type);
    if (handler === undefined) return null;
    const result: Observable<unknown> = this.transformToObservable(await handler(event, { row }));
    const returned = await lastValueFrom(result, { defaultValue: null });
    return isCommand(returned) ? returned : null;
  }
}

/**
 * Nest replaces what a handler throws by "Internal server error" and logs it with its stack, caller text and
 * all. The transport has to tell poison from a passing fault, and no text may be logged: hand on the original.
 */
@Catch()
export class RethrowFilter implements ExceptionFilter {
  catch(error: unknown, _host: ArgumentsHost): Observable<never> {
    return throwError(() => error);
  }
}

function readable(row: RecordedEvent): KnownEvent {
  try {
    return readEvent(row);
  } catch (error) {
    if (!(error instanceof UnreadableEvent)) throw error;
    // A body that its own version does not allow is poison for that allocation; what a newer version wrote
    // is not: the consumer waits for the upgrade.
    if (error.why === 'body') throw error;
    throw new Halted(row.pos, error.why);
  }
}

function isCommand(value: unknown): value is Command {
  return typeof value === 'object' && value !== null && 'commandId' in value && 'events' in value;
}
