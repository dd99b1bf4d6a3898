import { Client, type ClientConfig, Pool } from 'pg';
import {
  type AppendResult,
  type Command,
  type LogHead,
  type LogReader,
  LogUnavailable,
  type Partition,
} from '#domain/log';
import type { Log } from '#domain/log-tables';
import type { NoticeTable } from '#domain/prompt/notice-table';
import type { RecordedEvent } from '#events/envelope';
import { allocationTable, marks } from './allocation-table.ts';
import { appendOnce, resolveOwnSteps } from './append.ts';
import { assertUsable } from './assert-usable.ts';
import { clientConfig } from './connect.ts';
import { consumerCheckpoints } from './consumer-checkpoints.ts';
import { eventPagesByCopy, pagesByCopy } from './copied-rows.ts';
import { deadLetters } from './dead-letters.ts';
import { type EncodedCommand, encodeCommand } from './encode-command.ts';
import { failureOf } from './failures.ts';
import { HeadFollower } from './follow.ts';
import { GroupCommit } from './group-commit.ts';
import { leases } from './leases.ts';
import { noticeTable } from './notices.ts';
import { OneConnection } from './one-connection.ts';
import { type OverviewReads, overviewReads } from './overview.ts';
import { handlerTries, parkedStreams } from './parked.ts';
import { type Questions, questions } from './questions.ts';
import { logReader } from './read.ts';
import { sealedStore } from './sealed-store.ts';
import type { VerifiedRow } from './verify.ts';
import { Wires } from './wires.ts';

export interface PostgresLogOptions {
  /** With the role in it: see `withRole`. */
  readonly url: string;
  readonly applicationName: string;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** From a call to LogUnavailable. */
  readonly appendDeadlineMs?: number;
  /** One try without an answer counts as lost after this. */
  readonly attemptTimeoutMs?: number;
  readonly maxBatchCommands?: number;
  readonly maxBatchBytes?: number;
  /** Beyond this a call is refused with LogBusy. */
  readonly maxQueuedCommands?: number;
  readonly maxQueuedBytes?: number;
  readonly pollIntervalMs?: number;
  readonly readConnections?: number;
  /** Told of faults that are made good by themselves, for a log line or a count. */
  readonly onFault?: (fault: unknown) => void;
}

/** Readiness remembers a failed append for so long: without callers nobody tries the next one. */
const FAILURE_COUNTS_MS = 5_000;
/** An append's deadline, and a goodbye. */
const CLOSE_MS = 6_000;

/** The log on PostgreSQL, as one process sees it. Made by `open`, ended by `close`. */
export class PostgresLog implements Log {
  readonly checkpoints: Log['checkpoints'];
  readonly leases: Log['leases'];
  readonly parked: Log['parked'];
  readonly tries: Log['tries'];
  readonly deadLetters: Log['deadLetters'];
  readonly sealed: Log['sealed'];
  readonly allocations: Log['allocations'];
  readonly marks: Log['marks'];
  /** Outgoing notices: beside the log, and no part of what it proves. */
  readonly notices: NoticeTable;
  readonly questions: Questions;
  readonly overview: OverviewReads;
  readonly #pool: Pool;
  readonly #reader: LogReader;
  readonly #appending: OneConnection;
  readonly #commits: GroupCommit<EncodedCommand>;
  readonly #follower: HeadFollower;
  readonly #copying: ClientConfig;
  readonly #wires = new Wires();
  #cutTimer: NodeJS.Timeout | undefined;
  readonly #onFault: (fault: unknown) => void;
  readonly #now: () => number;
  #appendFailedAt = Number.NEGATIVE_INFINITY;

  private constructor(options: PostgresLogOptions) {
    const onFault = options.onFault ?? (() => {});
    const attemptTimeoutMs = options.attemptTimeoutMs ?? 2_500;
    const connection = { url: options.url, applicationName: options.applicationName };
    const { stream } = this.#wires;
    this.#onFault = onFault;
    this.#now = options.now;
    // A verifier that hashes slowly holds its statement up, and the server must bear with it.
    this.#copying = { ...clientConfig({ ...connection, statementTimeoutMs: 600_000 }), stream };

    // The client gives up later than the server, or a repeat would wait behind its own first try.
    this.#pool = new Pool({
      ...clientConfig(connection),
      stream,
      query_timeout: 12_000,
      max: options.readConnections ?? 4,
      idleTimeoutMillis: 30_000,
    });
    // The pool has dropped the connection by itself; without a listener the process would end (pitfall 13).
    this.#pool.on('error', onFault);
    // A connection that is being closed has no listener of the pool's any more: a server that stops at that moment
    // would end the process.
    this.#pool.on('connect', (client) => client.on('error', onFault));
    this.#reader = logReader(this.#pool);
    this.checkpoints = consumerCheckpoints(this.#pool);
    this.leases = leases(this.#pool);
    this.parked = parkedStreams(this.#pool);
    this.tries = handlerTries(this.#pool);
    this.deadLetters = deadLetters(this.#pool);
    this.sealed = sealedStore(this.#pool);
    this.allocations = allocationTable(this.#pool);
    this.marks = marks(this.#pool);
    this.notices = noticeTable(this.#pool);
    this.questions = questions(this.#pool);
    this.overview = overviewReads(this.#pool);

    this.#follower = new HeadFollower({
      config: { ...clientConfig({ ...connection, statementTimeoutMs: 1_500, lockTimeoutMs: 1_000 }), stream },
      pollIntervalMs: options.pollIntervalMs ?? 250,
      now: options.now,
      onFault,
    });

    const serverTimeoutMs = Math.max(200, attemptTimeoutMs - 500);
    this.#appending = new OneConnection({
      ...clientConfig({
        ...connection,
        statementTimeoutMs: serverTimeoutMs,
        lockTimeoutMs: serverTimeoutMs,
      }),
      stream,
    });
    this.#commits = new GroupCommit({
      send: (commands, timeoutMs, resent) => this.#send(commands, timeoutMs, resent),
      failureOf: (error) => {
        onFault(error);
        return failureOf(error);
      },
      bytesOf: ({ text }) => text.length,
      now: options.now,
      maxBatchCommands: options.maxBatchCommands ?? 256,
      maxBatchBytes: options.maxBatchBytes ?? 1024 * 1024,
      maxQueuedCommands: options.maxQueuedCommands ?? 10_000,
      maxQueuedBytes: options.maxQueuedBytes ?? 64 * 1024 * 1024,
      deadlineMs: options.appendDeadlineMs ?? 5_000,
      attemptTimeoutMs,
    });
  }

  /** Connects, refuses an unusable database (LogUnusable), and starts to follow the head. */
  static async open(options: PostgresLogOptions): Promise<PostgresLog> {
    const log = new PostgresLog(options);
    try {
      await assertUsable(log.#pool);
      await log.logId();
    } catch (error) {
      await log.close();
      throw error;
    }
    log.#follower.start();
    return log;
  }

  /**
   * From so long after now on nothing waits for the server: a process that ends has a deadline, and a frozen server
   * has none. What has no answer by then fails as LogUnavailable.
   */
  endWithin(ms: number): void {
    this.#cutTimer ??= setTimeout(() => {
      this.#commits.giveUp();
      this.#wires.cut();
    }, ms);
  }

  /** Waits for the appends that were taken, then ends every connection; all that with a bound. */
  async close(): Promise<void> {
    this.endWithin(CLOSE_MS);
    await this.#commits.close();
    await this.#follower.stop();
    await this.#appending.end();
    await this.#pool.end();
    clearTimeout(this.#cutTimer);
  }

  async append(commands: readonly Command[]): Promise<readonly AppendResult[]> {
    // Encoded here, while the batch before is on its way.
    const encoded = commands.map(encodeCommand);
    try {
      const results = await this.#commits.append(encoded);
      this.#appendFailedAt = Number.NEGATIVE_INFINITY;
      return results;
    } catch (error) {
      if (error instanceof LogUnavailable) this.#appendFailedAt = this.#now();
      throw error;
    }
  }

  takesAppends(): boolean {
    return !this.#follower.readOnly && this.#now() - this.#appendFailedAt > FAILURE_COUNTS_MS;
  }

  async #send(
    commands: readonly EncodedCommand[],
    timeoutMs: number,
    resent: boolean,
  ): Promise<readonly AppendResult[]> {
    const results = await appendOnce(this.#appending, commands, timeoutMs);
    return resent ? resolveOwnSteps(this.#appending, commands, results, timeoutMs) : results;
  }

  follow(onHead: (pos: number) => void): () => void {
    return this.#follower.follow(onHead);
  }

  lastReadAgeMs(): number {
    return this.#follower.lastReadAgeMs();
  }

  logId(): Promise<string> {
    return this.#reader.logId();
  }

  head(): Promise<LogHead> {
    return this.#reader.head();
  }

  at(pos: number): Promise<RecordedEvent | null> {
    return this.#reader.at(pos);
  }

  readAfter(pos: number, limit: number, partition?: Partition): Promise<readonly RecordedEvent[]> {
    return this.#reader.readAfter(pos, limit, partition);
  }

  readStream(stream: string, version: number, limit: number): Promise<readonly RecordedEvent[]> {
    return this.#reader.readStream(stream, version, limit);
  }

  /** Rows for verifyLog, several times faster than by whole events. In bounded memory. */
  async *verifiedPages(from: number, to: number): AsyncGenerator<readonly VerifiedRow[]> {
    const logId = await this.logId();
    yield* this.#copied((client) => pagesByCopy(client, logId, from, to));
  }

  /** Whole events of a share of the streams, several times faster than page by page. In bounded memory. */
  eventPages(from: number, to: number, share: Partition): AsyncGenerator<readonly RecordedEvent[]> {
    return this.#copied((client) => eventPagesByCopy(client, from, to, share));
  }

  async *#copied<Page>(pages: (client: Client) => AsyncIterable<Page>): AsyncGenerator<Page> {
    // Not one of the pool: while it sends, the reader may have to look something up through the pool.
    const client = new Client(this.#copying);
    client.on('error', this.#onFault);
    try {
      await client.connect();
      yield* pages(client);
    } finally {
      await client.end().catch(this.#onFault);
    }
  }

  byEventId(eventId: string): Promise<RecordedEvent | null> {
    return this.#reader.byEventId(eventId);
  }

  newestDecisions(
    stream: string,
    types: readonly string[],
    limit: number,
    upToDecisionVersion?: number,
  ): Promise<readonly RecordedEvent[]> {
    return this.#reader.newestDecisions(stream, types, limit, upToDecisionVersion);
  }

  decisionVersion(stream: string): Promise<number | null> {
    return this.#reader.decisionVersion(stream);
  }
}
