import { actorOf } from '#domain/actor';
import { type Allocation, allocationRowOf, UNKNOWN_ALLOCATION } from '#domain/allocation';
import { allocationView, consentAnswer } from '#domain/attempt/answer';
import { withoutAbsent } from '#domain/attempt/assess';
import { commandDigest } from '#domain/command-digest';
import { isConfirmToken } from '#domain/consent/confirm-token';
import type { ConsentRefusal } from '#domain/consent/consent';
import type { ConsentBody } from '#domain/consent/consent-body';
import { type AnswerOutcome, decideAnswer } from '#domain/consent/failover-answer';
import { digest } from '#domain/digest';
import { afterFacts, eventOfFact, type Standing } from '#domain/fact';
import type { KeyRing, RingKey } from '#domain/key-ring';
import type { AppendPort, Command, LogReader } from '#domain/log';
import { NOT_PLACED } from '#domain/placement';
import { placementRowOf } from '#domain/placement-row';
import type { FoundStream, StreamFinder } from '#event-log/find-stream';
import { allocationAt, loadAllocation } from '#event-log/load-allocation';
import type { PlacementStates } from '#event-log/placement-states';
import { ConsentAnswered } from '#events/consent.events';
import { eventIdOf } from '#events/envelope';
import type { Clock } from '#platform/clock';
import { randomId } from '#platform/ids';
import { type Problem, type ProblemName, problem } from '#platform/problem';
import { moveDecided, moveRecorded } from './answered-move.ts';

/** What names an answer beside its body, so that a repeat is one (fallback 1.5). */
export type AnswerName =
  | { readonly kind: 'caller'; readonly id: string }
  | { readonly kind: 'queue'; readonly incarnation: string; readonly sequence: number };

export type ConsentResult =
  | { readonly kind: 'answered'; readonly body: ReturnType<typeof consentAnswer> }
  | { readonly kind: 'refused'; readonly problem: Problem };

export interface ConsentAnswersOptions {
  readonly deployment: string;
  readonly ring: KeyRing;
  readonly streams: StreamFinder;
  readonly placements: PlacementStates;
  readonly log: AppendPort & LogReader;
  readonly clock: Clock;
}

/** A person's yes or no, from whichever call it came. */
export interface Answer {
  readonly accept: boolean;
  /** What proves an acceptance; null or blank = none was sent. */
  readonly token: string | null;
  /** The question that it is meant for; null = whichever is open. */
  readonly question: string | null;
  /** The call's known content: the same id with another one is refused (fallback 1.5). */
  readonly content: unknown;
}

/** An answer with where it belongs. */
interface Sent {
  readonly answer: Answer;
  readonly name: AnswerName | null;
  readonly answeredBy: string;
  readonly place: FoundStream;
  readonly commandId: string;
}

/** Lost races in a row before the caller is asked to repeat: each means that somebody else decided meanwhile. */
const LOST_RACES_MAX = 50;

const PROBLEM_OF: Readonly<Record<ConsentRefusal, ProblemName>> = {
  never_reported: 'never_reported',
  no_question_open: 'no_question_open',
  other_question_open: 'other_question_open',
  token_missing_or_wrong: 'token_invalid',
  token_expired: 'token_expired',
};

/** Takes a person's answer: judged on the decisions made until then, recorded once (fallback 1.2, 3, failover 4.8). */
export class ConsentAnswers {
  readonly #options: ConsentAnswersOptions;

  constructor(options: ConsentAnswersOptions) {
    this.#options = options;
  }

  /** The answer of a caller that names the allocation. Rejects with LogUnavailable or LogBusy. */
  async answer(body: ConsentBody, name: AnswerName | null, subject: string): Promise<ConsentResult> {
    const place = await this.#options.streams.find(body.logical_allocation);
    const { accept, confirm_token: token = null, question = null } = body;
    return this.answerAt(place, { accept, token, question, content: withoutAbsent(body) }, name, subject);
  }

  /** Records an answer or refuses it; a refusal burns nothing. Rejects with LogUnavailable or LogBusy. */
  async answerAt(
    place: FoundStream,
    answer: Answer,
    name: AnswerName | null,
    subject: string,
  ): Promise<ConsentResult> {
    const { log, ring, clock } = this.#options;
    const repeated = name === null ? null : await this.#earlier(name, answer, place);
    if (repeated !== null) return repeated;

    const commandId = name === null ? `answer-${randomId()}` : answerCommandId(name, ring.newest);
    const sent = { answer, name, answeredBy: actorOf(subject, place.key), place, commandId };
    for (let races = 0; races < LOST_RACES_MAX; races += 1) {
      const standing = await this.#standing(place.stream);
      if (standing === null) continue;
      // One time for both: replay judges a recorded answer at the time that stands beside it.
      const at = clock.now();
      const outcome = this.#judge(standing, sent, at);
      if (outcome.kind === 'refused') {
        // The question may have been answered by this very answer, sent twice at once.
        const same = name === null ? null : await this.#earlier(name, answer, place);
        return same ?? refusal(outcome.why, answer, standing.record, place);
      }

      const [result] = await log.append([this.#command(standing, outcome, sent, at)]);
      switch (result?.outcome) {
        case 'appended': {
          const move = moveDecided(outcome.facts, standing.placement, ring);
          return { kind: 'answered', body: consentAnswer(place.ref, outcome.record, move) };
        }
        case 'duplicate':
        case 'id_conflict': {
          const known = name === null ? null : await this.#earlier(name, answer, place);
          return known ?? refused('id_reused', standing.record, place);
        }
        default:
        // Somebody decided meanwhile: judge again on what was decided.
      }
    }
    return refused('log_unavailable', null, place);
  }

  /** Record and placement at one version; null when somebody decided between the two reads. */
  async #standing(stream: string): Promise<Standing | null> {
    const { log, placements } = this.#options;
    const record = (await loadAllocation(log, stream)) ?? UNKNOWN_ALLOCATION;
    // What was never launched is not read whole: its placement says nothing.
    const launches = await log.newestDecisions(stream, ['LaunchAccepted'], 1);
    if (launches.length === 0) return { record, placement: { ...NOT_PLACED, version: record.version } };
    const placement = await placements.get(stream);
    return placement.version === record.version ? { record, placement } : null;
  }

  #judge({ record, placement }: Standing, sent: Sent, at: string): AnswerOutcome {
    const { answer, answeredBy, place, commandId } = sent;
    const { openQuestion } = record.scalars;
    return decideAnswer(placement, record, {
      accept: answer.accept,
      question: answer.question,
      tokenMatches:
        openQuestion !== null &&
        isConfirmToken(answer.token ?? '', place.key, {
          deployment: this.#options.deployment,
          ref: place.ref,
          actionDigest: openQuestion.actionDigest,
          questionId: openQuestion.eventId,
        }),
      answeredBy,
      decisionId: eventIdOf(commandId, DECISION_INDEX),
      at,
    });
  }

  #command(
    standing: Standing,
    outcome: Extract<AnswerOutcome, { kind: 'decided' }>,
    sent: Sent,
    at: string,
  ): Command {
    const { ring } = this.#options;
    const { answer, name, answeredBy, place, commandId } = sent;
    const bodyDigest = answerBodyDigest(answer, ring.newest);
    const answered = ConsentAnswered.create({
      answerIdDigest: name?.kind === 'caller' ? digest(ring.newest.digests, 'answer-id', name.id) : null,
      bodyDigest,
      answeredBy,
      accept: answer.accept,
      questionId: outcome.questionId,
    });
    const eventIdAt = (index: number) => eventIdOf(commandId, DECISION_INDEX + index);
    const after = afterFacts(standing, outcome.facts, { at, eventIdAt });
    const saw = standing.record.version;
    const cause = { causedBy: eventIdOf(commandId, 0), saw };
    return {
      commandId,
      digest: commandDigest('answer', bodyDigest),
      stream: place.stream,
      expected: { decisionVersion: saw },
      occurredAt: at,
      events: [
        { event: answered, meta: { causedBy: null, saw: null } },
        ...outcome.facts.map((fact) => ({ event: eventOfFact(fact), meta: cause })),
      ],
      allocation: allocationRowOf(outcome.record.scalars),
      ...(after.placement.launch === null ? {} : { placement: placementRowOf(after.placement) }),
    };
  }

  /** The first result of the same id: a repeat shows what was decided then; another body is refused. */
  async #earlier(name: AnswerName, answer: Answer, place: FoundStream): Promise<ConsentResult | null> {
    const { log, ring } = this.#options;
    for (const key of ring.newestFirst) {
      const commandId = answerCommandId(name, key);
      const input = await log.byEventId(eventIdOf(commandId, 0));
      if (input === null) continue;
      const { bodyDigest } = ConsentAnswered.data.parse(JSON.parse(input.body));
      const decision = await log.byEventId(eventIdOf(commandId, DECISION_INDEX));
      if (decision === null) throw new Error('an answer without its decision: both are one command');
      if (bodyDigest !== answerBodyDigest(answer, key)) return refused('id_reused', null, place);
      const move = await moveRecorded(log, decision, ring);
      return { kind: 'answered', body: consentAnswer(place.ref, await allocationAt(log, decision), move) };
    }
    return null;
  }
}

/** The answer is event 0 of its command, its decision event 1; what follows from that stands behind it. */
const DECISION_INDEX = 1;

function refusal(why: ConsentRefusal, answer: Answer, state: Allocation, place: FoundStream): ConsentResult {
  const missing = why === 'token_missing_or_wrong' && (answer.token ?? '').trim() === '';
  return refused(missing ? 'token_missing' : PROBLEM_OF[why], state, place);
}

/** A 409 on a known record carries its view: whoever lost the answer to an acceptance can see it (fallback 1.2). */
function refused(name: ProblemName, state: Allocation | null, place: FoundStream): ConsentResult {
  const known = state !== null && state.scalars.requestDigest !== null;
  const shows = name === 'no_question_open' || name === 'other_question_open';
  return {
    kind: 'refused',
    problem: problem(name, known && shows ? { allocation: allocationView(place.ref, state) } : {}),
  };
}

function answerCommandId(name: AnswerName, key: RingKey): string {
  return name.kind === 'caller'
    ? `answer-${digest(key.digests, 'answer-id', name.id)}`
    : `answer-${digest(key.digests, 'message-id', { incarnation: name.incarnation, sequence: name.sequence })}`;
}

function answerBodyDigest({ content }: Answer, key: RingKey): string {
  return digest(key.digests, 'answer-body', content);
}
