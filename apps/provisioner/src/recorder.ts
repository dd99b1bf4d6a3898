import {
  ALLOCATION_EVENTS,
  type Allocation,
  allocationRowOf,
  evolveRecorded,
  UNKNOWN_ALLOCATION,
} from '#domain/allocation';
import { commandDigest } from '#domain/command-digest';
import { afterFacts, eventOfFact, type Fact, type Standing } from '#domain/fact';
import type { Command, LeaseStep } from '#domain/log';
import { NOT_PLACED, type Placement } from '#domain/placement';
import { evolveRecordedPlacement } from '#domain/placement-fold';
import { placementRowOf } from '#domain/placement-row';
import { eventIdOf } from '#events/envelope';
import { readEvent } from '#events/upcast';
import type { KillPoint, ProvisionerParts } from './parts.ts';

const READ_MAX = 1_000;

/** Where the facts of an append stand: what an irreversible call takes as proof that they were recorded. */
export interface Recorded {
  readonly stream: string;
  readonly firstPos: number;
  /** By the store. */
  readonly recordedAt: string;
}

export type RecordResult =
  | { readonly kind: 'recorded'; readonly recorded: Recorded }
  /** Somebody else decided meanwhile: the state was read again, and the step is to be chosen anew. */
  | { readonly kind: 'overtaken' }
  /** The lease is another worker's now: stop at once (failover 11). */
  | { readonly kind: 'fenced' };

export interface RecordOptions {
  readonly lease?: LeaseStep;
  readonly fence?: number | null;
  /** Named before, when a fact tells the id of another one of its command. */
  readonly commandId?: string;
  readonly parts?: Pick<Command, 'sealed' | 'recordKey' | 'ringKeyId'>;
}

/** The fold of one stream, and the one way in which a worker adds to it: on the exact version that it saw. */
export class Recorder {
  readonly stream: string;
  readonly #parts: ProvisionerParts;
  #state: Placement = NOT_PLACED;
  #record: Allocation = UNKNOWN_ALLOCATION;
  #streamVersion = 0;

  private constructor(parts: ProvisionerParts, stream: string) {
    this.#parts = parts;
    this.stream = stream;
  }

  static async open(parts: ProvisionerParts, stream: string): Promise<Recorder> {
    const recorder = new Recorder(parts, stream);
    await recorder.readOn();
    return recorder;
  }

  get state(): Placement {
    return this.#state;
  }

  get record(): Allocation {
    return this.#record;
  }

  newCommandId(): string {
    return `provision-${this.#parts.ids.commandId()}`;
  }

  /** Folds what the stream has beyond what is known. */
  async readOn(): Promise<void> {
    for (;;) {
      const rows = await this.#parts.log.readStream(this.stream, this.#streamVersion, READ_MAX);
      for (const row of rows) {
        this.#streamVersion = row.streamVersion;
        // What this worker recorded itself is folded already.
        if (row.role === 'decision' && row.decisionVersion <= this.#state.version) continue;
        const event = readEvent(row);
        this.#state = evolveRecordedPlacement(this.#state, event);
        this.#record = evolveRecorded(this.#record, event);
      }
      if (rows.length < READ_MAX) return;
    }
  }

  /** Records facts, all or nothing, and reaches the kill points that stand behind them. */
  async add(facts: readonly Fact[], options: RecordOptions = {}): Promise<RecordResult> {
    const { log, clock } = this.#parts;
    const commandId = options.commandId ?? this.newCommandId();
    const at = clock.now();
    const before = { placement: this.#state, record: this.#record };
    const after = afterFacts(before, facts, { at, eventIdAt: (index) => eventIdOf(commandId, index) });
    const saw = this.#state.version;
    const command: Command = {
      commandId,
      digest: commandDigest('provision', commandId),
      stream: this.stream,
      expected: { decisionVersion: saw },
      occurredAt: at,
      events: facts.map((fact) => ({ event: eventOfFact(fact), meta: { causedBy: null, saw } })),
      placement: placementRowOf(after.placement),
      ...(facts.some(changesRecord) ? { allocation: allocationRowOf(after.record.scalars) } : {}),
      ...(options.lease === undefined ? {} : { lease: options.lease }),
      ...(options.fence == null ? {} : { fence: { lease: this.stream, fence: options.fence } }),
      ...options.parts,
    };
    const [result] = await log.append([command]);
    switch (result?.outcome) {
      case 'appended':
      case 'duplicate': {
        if (result.outcome === 'duplicate') await this.readOn();
        else this.#fold(after);
        for (const fact of facts) {
          if (fact.type !== 'AlertRaised') continue;
          this.#parts.report({ kind: 'alert', stream: this.stream, alert: fact.data.alert });
        }
        for (const point of pointsBehind(facts)) await this.#parts.kill(point);
        const { firstPos, recordedAt } = result;
        return { kind: 'recorded', recorded: { stream: this.stream, firstPos, recordedAt } };
      }
      case 'fenced':
        return { kind: 'fenced' };
      case 'wrong_version':
        await this.readOn();
        return { kind: 'overtaken' };
      default:
        throw new Error(`a fact of the provisioner was answered ${result?.outcome ?? 'nothing'}`);
    }
  }

  /** On an exact version nothing came in between but inputs, which change no state: it need not be read back. */
  #fold({ placement, record }: Standing): void {
    this.#state = placement;
    this.#record = record;
  }

  /**
   * The one fact that needs no fence: a create returned after its lease was lost (failover 11). It saves the
   * next worker the grace.
   */
  async addLateInstance(intent: string, instance: string): Promise<void> {
    const { log, clock } = this.#parts;
    const commandId = this.newCommandId();
    await log.append([
      {
        commandId,
        digest: commandDigest('provision', commandId),
        stream: this.stream,
        expected: 'any',
        occurredAt: clock.now(),
        events: [
          {
            event: eventOfFact({ type: 'LateInstanceSeen', data: { intent, instance } }),
            // It was written without a look at the state: it is true whatever was decided since.
            meta: { causedBy: null, saw: null },
          },
        ],
      },
    ]);
  }
}

function changesRecord(fact: Fact): boolean {
  return ALLOCATION_EVENTS.some((type) => type === fact.type);
}

/** Points whose fact is in the log, with nothing done after it. Most belong to the terminal lane. */
function pointsBehind(facts: readonly Fact[]): readonly KillPoint[] {
  return facts.flatMap((fact): readonly KillPoint[] => {
    switch (fact.type) {
      case 'FailoverDecided':
      case 'FailoverPrompted':
        return ['decided'];
      case 'RungCounted':
        return ['rung_counted'];
      case 'IntentRecorded':
        return fact.data.entry.kind === 'terminal' ? ['intent_recorded'] : [];
      case 'BootstrapBegun':
        return ['bootstrapping'];
      case 'FailoverCompleted':
        return ['completed'];
      default:
        return [];
    }
  });
}
