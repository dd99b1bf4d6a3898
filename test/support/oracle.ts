import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Allocation, evolveRecorded, UNKNOWN_ALLOCATION } from '#domain/allocation';
import { decisionIdOf } from '#domain/attempt/attempt-ids';
import { decideErasure } from '#domain/audit/erase';
import { type Classification, classify } from '#domain/classify/classify';
import { type AnswerOutcome, decideAnswer } from '#domain/consent/failover-answer';
import type { Fact, Standing } from '#domain/fact';
import type { LogReader } from '#domain/log';
import type { Log } from '#domain/log-tables';
import { NOT_PLACED } from '#domain/placement';
import { evolveRecordedPlacement } from '#domain/placement-fold';
import { decideAttempt, type PromptRules } from '#domain/prompt/prompt';
import { renewPrompt } from '#domain/prompt/renewal';
import { decideLaunch } from '#domain/provision/decide-launch';
import { judgeObservation } from '#domain/watch/judge';
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
  readonly #standings: Standing[] = [{ record: UNKNOWN_ALLOCATION, placement: NOT_PLACED }];
  readonly #commands = new Map<string, KnownEvent[]>();

  constructor(
    private readonly events: readonly KnownEvent[],
    private readonly sealer: Opener,
    private readonly rules: PromptRules,
    private readonly isErased: boolean,
  ) {
    for (const event of events) {
      if (event.row.role === 'input') continue;
      const command = this.#commands.get(event.row.commandId) ?? [];
      this.#commands.set(event.row.commandId, [...command, event]);
    }
  }

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
    const newest = this.#standings.length - 1;
    const command = this.#commands.get(row.commandId) ?? [];
    const index = command.indexOf(event);
    // All facts of a command were decided on the version before its first one.
    const faults =
      // A late create's id is told without a look at the state (failover 11).
      saw === newest - index || (saw === null && event.type === 'LateInstanceSeen')
        ? []
        : [`${place} saw version ${saw}, but ${newest - index} was the newest`];
    const standing = saw === null ? undefined : this.#standings[saw];
    const before = this.#standings[newest] ?? { record: UNKNOWN_ALLOCATION, placement: NOT_PLACED };
    this.#standings.push({
      record: evolveRecorded(before.record, event),
      placement: evolveRecordedPlacement(before.placement, event),
    });
    if (standing === undefined) return faults;

    const cause = causedBy === null ? undefined : this.#byId.get(causedBy);
    const again = await this.#decide(standing, event, cause, command);
    if (again === null) return faults;
    if (typeof again === 'string') return [...faults, `${place}: ${again}`];
    if (again.type !== event.type) return [...faults, `${place}: the rules decide ${again.type}`];
    return [...faults, ...differing(again.data, event.data).map((member) => `${place}: ${member}`)];
  }

  /** Null = a fact of a provider, which no rule decides. */
  async #decide(
    { record, placement }: Standing,
    event: KnownEvent,
    cause: KnownEvent | undefined,
    command: readonly KnownEvent[],
  ): Promise<Again | null> {
    const index = command.indexOf(event);
    if (cause?.type === 'ObservationReported') {
      return judgedAgain({ record, placement }, cause, command, this.rules)[index] ?? 'nothing follows there';
    }
    if (cause?.type === 'ConsentAnswered') {
      const outcome = answeredAgain({ record, placement }, cause, event);
      if (outcome.kind === 'refused') return `the rules refuse it: ${outcome.why}`;
      return outcome.facts[index] ?? 'nothing follows there';
    }
    switch (event.type) {
      case 'AttemptTracked':
      case 'AttemptIgnored':
      case 'AllocationSucceeded':
      case 'FallbackPrompted':
        return cause?.type === 'AttemptReported'
          ? this.#decideAttempt(record, event, cause)
          : 'no attempt caused it';
      case 'ConsentAccepted':
      case 'ConsentDeclined':
        return 'no answer caused it';
      case 'PromptRenewed': {
        const { eventId, occurredAt } = event.row;
        const { tokenLifeS } = this.rules;
        const renewed = renewPrompt(record, { at: occurredAt, decisionId: eventId, tokenLifeS });
        return renewed === null ? 'nothing was there to renew' : { type: event.type, data: renewed.data };
      }
      case 'AllocationErased':
        return decideErasure({ record, placement })[index] ?? 'nothing follows there';
      case 'LaunchAccepted': {
        if (cause?.type !== 'LaunchRequested') return 'no launch caused it';
        const { plan, requestDigest, workloadDigest } = cause.data;
        const launch = cause.row.eventId;
        const decided = decideLaunch(placement, { launch, plan, requestDigest, workloadDigest });
        return decided.kind === 'refused' ? decided.why : { type: event.type, data: decided.accepted };
      }
      case 'ObservationJudged':
        return 'no observation caused it';
      default:
        return null;
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

/** The judgement of an observation and what follows from it; ids, times and digests are the recorded ones. */
function judgedAgain(
  { record, placement }: Standing,
  { data }: Known<'ObservationReported'>,
  command: readonly KnownEvent[],
  { tokenLifeS }: PromptRules,
): readonly Fact[] {
  const prompt = command.find((event) => event.type === 'FailoverPrompted');
  const judged = command.find((event) => event.type === 'ObservationJudged');
  const digests: Readonly<Record<string, string | undefined>> = {
    'failover-action': prompt?.data.actionDigest,
    'failover-evidence': prompt?.data.evidenceDigest,
  };
  return judgeObservation(placement, record, data.observation, {
    mark: judged?.data.mark ?? null,
    question: {
      ref: '',
      askedAt: prompt?.data.askedAt ?? data.observation.observedAt,
      tokenLifeS,
      digestOf: (label) => digests[label] ?? '',
    },
    eventIdAt: (index) => command[index]?.row.eventId ?? '',
  });
}

function answeredAgain(
  { record, placement }: Standing,
  { data }: Known<'ConsentAnswered'>,
  decision: KnownEvent,
): AnswerOutcome {
  return decideAnswer(placement, record, {
    accept: data.accept,
    question: data.questionId,
    // A token is never stored: that the answer was recorded says that it matched.
    tokenMatches: true,
    answeredBy: data.answeredBy,
    decisionId: decision.row.eventId,
    at: decision.row.occurredAt,
  });
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
