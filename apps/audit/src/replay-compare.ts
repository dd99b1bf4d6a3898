import { LRUCache } from 'lru-cache';
import {
  type Comparison,
  compareDecisions,
  type DecisionDifference,
  NOTHING_DECIDED,
  standingAfter,
  unreadableDifference,
} from '#domain/audit/compare-decisions';
import { causeOf, type JudgedInput, judgedInput } from '#domain/audit/rejudge-command';
import type { Classification } from '#domain/classify/classify';
import type { CodeTable } from '#domain/classify/code-table';
import { classifySealed, NOTHING_FAILED } from '#domain/classify/sealed-failure';
import type { Standing } from '#domain/fact';
import type { LogHead, LogReader, Partition } from '#domain/log';
import type { AllocationTable } from '#domain/log-tables';
import type { PromptRules } from '#domain/prompt/prompt';
import type { KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import { readEvent, UnreadableEvent } from '#events/upcast';
import type { Progress } from './progress.ts';
import type { Unsealer } from './views/story-lines.ts';
import { endOf, type WalkedLog, walkLog } from './walk-log.ts';

export interface CompareReport {
  /** Today's rules decide nothing otherwise up to `upTo`. */
  readonly ok: boolean;
  /** The log as it was when this began. */
  readonly head: LogHead;
  /** Every decision up to this position was looked at: the head, unless less was asked for. */
  readonly upTo: number;
  /** Where the log stands at the end: what was appended meanwhile was not looked at. */
  readonly grownTo: number;
  /** What "today" is: the settings under which it was decided again. */
  readonly rules: PromptRules;
  readonly events: number;
  readonly streams: number;
  /** Decisions that were decided again: one for an input with everything that follows from it. */
  readonly decided: number;
  /** Decisions that today's rules make otherwise. */
  readonly found: number;
  /** The same decision for other reasons, such as a count of 1/2 that would be 1/3: no difference. */
  readonly explainedOtherwise: number;
  readonly failures: {
    /** Failure texts that were classified again. */
    readonly classified: number;
    /** Erased, or their retention has ended: the recorded category stands. */
    readonly gone: number;
    /** No wrapping keys were given: the recorded category stands. */
    readonly notOpened: number;
  };
  /** Inputs without a decision yet: parked, or their consumer is behind. */
  readonly undecided: number;
  /** The first of the differences, oldest first; `onDifference` is told of every one. */
  readonly differences: readonly DecisionDifference[];
}

export interface CompareOptions {
  readonly rules: PromptRules;
  /** Opens failure texts to classify them again; null = they stay sealed. */
  readonly unsealer: Unsealer | null;
  /** Provider codes; today's unless given. */
  readonly table?: CodeTable;
  /** The last position that is looked at; null = up to the head. */
  readonly until?: number | null;
  readonly onProgress?: Progress;
  readonly onDifference?: (difference: DecisionDifference) => void;
  /** States kept at once: more streams than this take several passes. */
  readonly streamsInMemory?: number;
  readonly pageSize?: number;
  /** Differences that are kept for the report. */
  readonly keepMax?: number;
}

type CompareLog = Pick<LogReader, 'head'> &
  WalkedLog & {
    readonly allocations: Pick<AllocationTable, 'count'>;
  };

// As many as in a replay; the inputs that wait for a decision come on top.
const STREAMS_IN_MEMORY = 25_000;
const PAGE_SIZE = 1_000;
const KEEP_MAX = 1_000;
const CLASSIFIED_MAX = 20_000;
const OPENED_AT_ONCE = 8;

/**
 * Decides every attempt, observation, answer, launch and renewal again with today's rules, on the state that each
 * decision saw, and classifies again what failed where its text is still there (design 4). Reads only; memory is
 * bounded as in `replay`. Every decision is judged by itself: what differs is what today's rules would have said
 * there and then, not where the story would have gone after it.
 */
export async function replayCompare(log: CompareLog, options: CompareOptions): Promise<CompareReport> {
  const { onProgress = () => {}, streamsInMemory = STREAMS_IN_MEMORY } = options;
  const head = await log.head();
  const upTo = await endOf(log, head.pos, options.until ?? null);
  const passes = Math.max(1, Math.ceil((await log.allocations.count({})) / streamsInMemory));
  const tally = new Tally(options);
  const failures = new Failures(options);
  for (let index = 0; index < passes; index += 1) {
    const pass = new Pass(options.rules, tally, failures);
    await pass.run(log, { index, count: passes }, options.pageSize ?? PAGE_SIZE, upTo, (pos) =>
      onProgress(index * upTo + pos, passes * upTo),
    );
  }
  const grownTo = (await log.head()).pos;
  return { ok: tally.found === 0, head, upTo, grownTo, rules: options.rules, ...tally.report(failures) };
}

class Tally {
  readonly #keepMax: number;
  readonly #onDifference: (difference: DecisionDifference) => void;
  readonly #differences: DecisionDifference[] = [];
  found = 0;
  explainedOtherwise = 0;
  events = 0;
  streams = 0;
  decided = 0;
  undecided = 0;

  constructor({ keepMax = KEEP_MAX, onDifference = () => {} }: CompareOptions) {
    this.#keepMax = keepMax;
    this.#onDifference = onDifference;
  }

  compared(comparison: Comparison): void {
    if (comparison.kind === 'not_decided_again') return;
    this.decided += 1;
    if (comparison.kind === 'explained_otherwise') this.explainedOtherwise += 1;
    if (comparison.kind === 'differs') this.differs(comparison.difference);
  }

  differs(difference: DecisionDifference): void {
    this.found += 1;
    if (this.#differences.length < this.#keepMax) this.#differences.push(difference);
    this.#onDifference(difference);
  }

  report({ classified, gone, notOpened }: Failures) {
    const { events, streams, decided, found, explainedOtherwise, undecided } = this;
    return {
      events,
      streams,
      decided,
      found,
      explainedOtherwise,
      failures: { classified, gone, notOpened },
      undecided,
      differences: this.#differences.toSorted((one, other) => one.pos - other.pos),
    };
  }
}

/** What today's classifier makes of sealed failures. */
class Failures {
  readonly #unsealer: Unsealer | null;
  readonly #table: CodeTable | undefined;
  /** By allocation and digest: what was made of a text, never the text. Null = it is gone. */
  readonly #known = new LRUCache<string, Promise<Classification | null>>({ max: CLASSIFIED_MAX });
  classified = 0;
  gone = 0;
  notOpened = 0;

  constructor({ unsealer, table }: CompareOptions) {
    this.#unsealer = unsealer;
    this.#table = table;
  }

  /** By event id of the attempt; an attempt whose text cannot be read is not in it. */
  async ofPage(events: readonly KnownEvent[]): Promise<ReadonlyMap<string, Classification>> {
    const found = new Map<string, Classification>();
    const waiting = events.filter((event) => event.type === 'AttemptReported').values();
    const worker = async (): Promise<void> => {
      for (const { row, data } of waiting) {
        const classification = await this.#of(row.stream, data.failureDigest);
        if (classification !== null) found.set(row.eventId, classification);
      }
    };
    await Promise.all(Array.from({ length: OPENED_AT_ONCE }, worker));
    return found;
  }

  async #of(stream: string, digest: string | null): Promise<Classification | null> {
    if (digest === null) return NOTHING_FAILED;
    if (this.#unsealer === null) {
      this.notOpened += 1;
      return null;
    }
    const address = `${stream}\n${digest}`;
    const known = this.#known.get(address) ?? this.#open(this.#unsealer, stream, digest);
    this.#known.set(address, known);
    const classification = await known;
    if (classification === null) this.gone += 1;
    else this.classified += 1;
    return classification;
  }

  async #open(unsealer: Unsealer, stream: string, digest: string): Promise<Classification | null> {
    const text = await unsealer.open(stream, 'failure', digest);
    return text === null ? null : classifySealed(text, this.#table);
  }
}

interface Command {
  readonly id: string;
  readonly stream: string;
  readonly events: KnownEvent[];
}

/** One share of the streams. */
class Pass {
  readonly #rules: PromptRules;
  readonly #tally: Tally;
  readonly #failures: Failures;
  readonly #standings = new Map<string, Standing & { readonly streamVersion: number }>();
  /** Streams that cannot be folded on: a row is missing or unreadable. */
  readonly #stopped = new Set<string>();
  /** By event id, until they are decided. */
  readonly #inputs = new Map<string, JudgedInput>();
  #command: Command | null = null;

  constructor(rules: PromptRules, tally: Tally, failures: Failures) {
    this.#rules = rules;
    this.#tally = tally;
    this.#failures = failures;
  }

  async run(
    log: Pick<LogReader, 'readAfter'>,
    share: Partition,
    pageSize: number,
    upTo: number,
    onProgress: (pos: number) => void,
  ): Promise<void> {
    await walkLog(log, { share, pageSize, upTo, onPage: (rows) => this.#page(rows), onProgress });
    this.#endCommand();
    this.#tally.streams += this.#standings.size;
    this.#tally.undecided += [...this.#inputs.values()].filter(
      ({ type }) => type === 'AttemptReported' || type === 'ObservationReported',
    ).length;
  }

  async #page(rows: readonly RecordedEvent[]): Promise<void> {
    this.#tally.events += rows.length;
    const events = rows.flatMap((row) => this.#read(row));
    const classifications = await this.#failures.ofPage(events);
    for (const event of events) {
      this.#take(event, classifications.get(event.row.eventId) ?? null);
    }
  }

  #read(row: RecordedEvent): readonly KnownEvent[] {
    if (this.#stopped.has(row.stream)) return [];
    try {
      return [readEvent(row)];
    } catch (error) {
      if (!(error instanceof UnreadableEvent)) throw error;
      this.#stop(row, error.why);
      return [];
    }
  }

  #take(event: KnownEvent, classification: Classification | null): void {
    const { row } = event;
    // The events of a command stand side by side in the log.
    if (this.#command?.id !== row.commandId || this.#command.stream !== row.stream) this.#endCommand();
    this.#command ??= { id: row.commandId, stream: row.stream, events: [] };
    this.#command.events.push(event);
    const input = judgedInput(event, classification);
    if (input !== null) this.#inputs.set(row.eventId, input);
  }

  #endCommand(): void {
    const command = this.#command;
    this.#command = null;
    const [first] = command?.events ?? [];
    if (command === null || first === undefined) return;
    const { stream, events } = command;
    const { streamVersion = 0, ...before } = this.#standings.get(stream) ?? {
      ...NOTHING_DECIDED,
      streamVersion: 0,
    };
    if (first.row.streamVersion !== streamVersion + 1) {
      if (!this.#stopped.has(stream)) this.#stop(first.row, 'an event before it is missing');
      return;
    }
    const decisions = events.filter(({ row }) => row.role === 'decision');
    if (decisions.length > 0) this.#decide(before, decisions);
    const after = standingAfter(before, events);
    if (after === null) this.#stop(first.row, 'it cannot have happened there');
    else this.#standings.set(stream, { ...after, streamVersion: streamVersion + events.length });
  }

  #decide(before: Standing, decisions: readonly KnownEvent[]): void {
    const cause = causeOf(decisions);
    const input = cause === null ? null : (this.#inputs.get(cause) ?? null);
    this.#tally.compared(compareDecisions(before, decisions, input, this.#rules));
    if (cause !== null) this.#inputs.delete(cause);
  }

  #stop(row: RecordedEvent, why: string): void {
    this.#stopped.add(row.stream);
    this.#tally.differs(unreadableDifference(row, why));
  }
}
