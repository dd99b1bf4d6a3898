import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Allocation, evolve, evolveRecorded, UNKNOWN_ALLOCATION } from '#domain/allocation';
import { decisionIdOf } from '#domain/attempt/attempt-ids';
import { type Classification, classify } from '#domain/classify/classify';
import { decideConsent } from '#domain/consent/consent';
import type { LogReader } from '#domain/log';
import type { Log } from '#domain/log-tables';
import { decideAttempt, type PromptRules } from '#domain/prompt/prompt';
import { renewPrompt } from '#domain/prompt/renewal';
import type { KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import { refOfStream } from '#events/streams';
import { readEvent, readMeta } from '#events/upcast';
import type { Sealer } from '#platform/sealer';

type OracleLog = Pick<LogReader, 'readAfter'> & { readonly sealed: Pick<Log['sealed'], 'keysOf'> };
type Opener = Pick<Sealer, 'open'>;
type Known<Type extends KnownEvent['type']> = Extract<KnownEvent, { readonly type: Type }>;

const PAGE_ROWS = 1_000;
const NOTHING_FAILED: Classification = { category: 'other', qualifying: false, rule: 'none' };
const TEXT_GONE: Classification = { category: 'other', qualifying: false, rule: 'text-gone' };
const Failure = z.object({ code: z.string().nullable(), message: z.string().nullable() });

/**
 * The oracle of all tests (design 7): the recorded decisions of every allocation equal the pure rules run over
 * its inputs, each on the state that it says it saw. One sentence a fault; none = proven.
 */
export async function oracleFaults(
  log: OracleLog,
  sealer: Opener,
  rules: PromptRules,
): Promise<readonly string[]> {
  const streams = new Map<string, KnownEvent[]>();
  for await (const row of wholeLog(log)) {
    if (refOfStream(row.stream) === null) continue;
    const events = streams.get(row.stream);
    if (events === undefined) streams.set(row.stream, [readEvent(row)]);
    else events.push(readEvent(row));
  }
  const faults: string[] = [];
  for (const [stream, events] of streams) {
    const isErased = (await log.sealed.keysOf(stream)).length === 0;
    faults.push(...(await new StreamOracle(events, sealer, rules, isErased).faults()));
  }
  return faults;
}

/** Every row in order. */
export async function* wholeLog(log: Pick<LogReader, 'readAfter'>): AsyncGenerator<RecordedEvent> {
  for (let pos = 0; ; ) {
    const rows = await log.readAfter(pos, PAGE_ROWS);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    pos = last.pos;
  }
}

/** What today's rules decide; a sentence when they decide nothing there. */
type Again = { readonly type: string; readonly data: object } | string;

/** One allocation's story, decided again from its inputs. */
class StreamOracle {
  readonly #byId = new Map<string, KnownEvent>();
  /** By decision version. */
  readonly #states: Allocation[] = [UNKNOWN_ALLOCATION];

  constructor(
    private readonly events: readonly KnownEvent[],
    private readonly sealer: Opener,
    private readonly rules: PromptRules,
    private readonly isErased: boolean,
  ) {}

  async faults(): Promise<readonly string[]> {
    const faults: string[] = [];
    for (const event of this.events) {
      if (event.row.role === 'decision') faults.push(...(await this.#judge(event)));
      this.#byId.set(event.row.eventId, event);
    }
    return [...faults, ...this.#orderFaults()];
  }

  async #judge(event: KnownEvent): Promise<readonly string[]> {
    const { row } = event;
    const place = `${event.type} at ${row.pos}`;
    const { causedBy, saw } = readMeta(row);
    const newest = this.#states.length - 1;
    const state = saw === null ? undefined : this.#states[saw];
    const faults = saw === newest ? [] : [`${place} saw version ${saw}, but ${newest} was the newest`];
    const before = this.#states[newest] ?? UNKNOWN_ALLOCATION;
    this.#states.push(evolveRecorded(before, event));
    if (state === undefined) return faults;

    const cause = causedBy === null ? undefined : this.#byId.get(causedBy);
    const again = await this.#decide(state, event, cause);
    if (typeof again === 'string') return [...faults, `${place}: ${again}`];
    if (again.type !== event.type) return [...faults, `${place}: the rules decide ${again.type}`];
    return [...faults, ...differing(again.data, event.data).map((member) => `${place}: ${member}`)];
  }

  async #decide(state: Allocation, event: KnownEvent, cause: KnownEvent | undefined): Promise<Again> {
    switch (event.type) {
      case 'AttemptTracked':
      case 'AttemptIgnored':
      case 'AllocationSucceeded':
      case 'FallbackPrompted':
        return cause?.type === 'AttemptReported'
          ? this.#decideAttempt(state, event, cause)
          : 'no attempt caused it';
      case 'ConsentAccepted':
      case 'ConsentDeclined':
        return cause?.type === 'ConsentAnswered'
          ? this.#decideConsent(state, event, cause)
          : 'no answer caused it';
      case 'PromptRenewed': {
        const { eventId, occurredAt } = event.row;
        const { tokenLifeS } = this.rules;
        const renewed = renewPrompt(state, { at: occurredAt, decisionId: eventId, tokenLifeS });
        return renewed === null ? 'nothing was there to renew' : { type: event.type, data: renewed.data };
      }
      case 'AllocationErased': {
        const { openQuestion } = state.scalars;
        const data = { withdrew: openQuestion?.kind === 'pool' ? openQuestion.eventId : null };
        const after = evolve(state, { type: event.type, eventId: event.row.eventId, data }).scalars;
        return { type: event.type, data: { ...data, after } };
      }
      default:
        return 'no rule decides such an event';
    }
  }

  async #decideAttempt(
    state: Allocation,
    event: Known<'AttemptTracked' | 'AttemptIgnored' | 'AllocationSucceeded' | 'FallbackPrompted'>,
    { row, data }: Known<'AttemptReported'>,
  ): Promise<Again> {
    if (event.row.eventId !== decisionIdOf(row.eventId))
      return 'its id is not that of the attempt it decides';
    const classification = await this.#classification(event, row, data.failureDigest);
    if (typeof classification === 'string') return classification;
    return decideAttempt(
      state,
      {
        input: data,
        recordedAt: row.recordedAt,
        decidedAt: event.row.occurredAt,
        decisionId: event.row.eventId,
        classification,
      },
      this.rules,
    );
  }

  /** Of an erased text only what was recorded is left to go by. */
  async #classification(
    decision: KnownEvent,
    input: RecordedEvent,
    failureDigest: string | null,
  ): Promise<Classification | string> {
    if (failureDigest === null) return NOTHING_FAILED;
    const text = await this.sealer.open(input.stream, 'failure', failureDigest);
    if (text !== null) {
      const { code, message } = Failure.parse(JSON.parse(text));
      return classify({ code: code ?? undefined, message: message ?? undefined });
    }
    const erased = this.events.some(({ type, row }) => type === 'AllocationErased' && row.pos > input.pos);
    if (!erased && !this.isErased) return `the text of the failure at ${input.pos} does not open`;
    if (decision.type !== 'AttemptTracked' && decision.type !== 'FallbackPrompted') return TEXT_GONE;
    const { category, qualifying, explanation } = decision.data;
    const rule = explanation.find((code) => code.startsWith('rule:')) ?? '';
    return { category, qualifying, rule: rule.slice('rule:'.length) };
  }

  #decideConsent(
    state: Allocation,
    event: Known<'ConsentAccepted' | 'ConsentDeclined'>,
    { data }: Known<'ConsentAnswered'>,
  ): Again {
    const outcome = decideConsent(state, {
      accept: data.accept,
      question: data.questionId,
      // A token is never stored: that the answer was recorded says that it matched.
      tokenMatches: true,
      answeredBy: data.answeredBy,
      decisionId: event.row.eventId,
      at: event.row.occurredAt,
    });
    return outcome.kind === 'refused' ? `the rules refuse it: ${outcome.why}` : outcome;
  }

  /** Every attempt has one decision, and they were made in the order in which the attempts were recorded. */
  #orderFaults(): readonly string[] {
    const reported = this.events.filter(({ type }) => type === 'AttemptReported').map(({ row }) => row);
    const decided = this.events
      .filter(({ type }) => ATTEMPT_DECISIONS.has(type))
      .map(({ row }) => readMeta(row).causedBy);
    if (
      isDeepStrictEqual(
        decided,
        reported.map(({ eventId }) => eventId),
      )
    )
      return [];
    const undecided = reported.filter(({ eventId }) => !decided.includes(eventId)).map(({ pos }) => pos);
    return undecided.length > 0
      ? [`the attempts at ${undecided.join(', ')} have no decision`]
      : [`the attempts of ${reported[0]?.stream} were not decided once each, in their order`];
  }
}

const ATTEMPT_DECISIONS: ReadonlySet<string> = new Set([
  'AttemptTracked',
  'AttemptIgnored',
  'AllocationSucceeded',
  'FallbackPrompted',
]);

function differing(again: object, recorded: object): readonly string[] {
  const members = new Set([...Object.keys(again), ...Object.keys(recorded)]);
  return [...members].flatMap((member) => {
    const one: unknown = Reflect.get(again, member);
    const other: unknown = Reflect.get(recorded, member);
    if (isDeepStrictEqual(one, other)) return [];
    return [`${member} is ${JSON.stringify(other)}, the rules give ${JSON.stringify(one)}`];
  });
}
