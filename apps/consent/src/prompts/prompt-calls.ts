import { z } from 'zod';
import { LOCAL_SUBJECT } from '#domain/actor';
import { CallerId } from '#domain/attempt/attempt-body';
import type { AnswerTaken, CallerView, PromptPage, PromptView } from '#domain/audit/views';
import { confirmToken } from '#domain/consent/confirm-token';
import { PromptAnswerBody } from '#domain/consent/page-bodies';
import { proposedFailover } from '#domain/intent/proposed-action';
import { streamDigest } from '#domain/intent/question-context';
import type { RecordedQuestion } from '#domain/prompt/recorded-question';
import { isExpired } from '#domain/prompt/renewal';
import type { FoundStream, StreamFinder } from '#event-log/find-stream';
import type { QuestionReader } from '#event-log/question-reader';
import type { QuestionRenewal } from '#event-log/question-renewal';
import { type Caller, mayDo } from '#platform/auth';
import type { Clock } from '#platform/clock';
import { type Problem, parseBody, parseQuery, problem } from '#platform/problem';
import type { AnswerName, ConsentAnswers } from '../consent-answers.ts';
import type { PromptViews } from './prompt-views.ts';

export interface PromptCallsOptions {
  readonly deployment: string;
  readonly streams: StreamFinder;
  readonly reader: QuestionReader;
  readonly renewal: QuestionRenewal;
  readonly answers: ConsentAnswers;
  readonly views: PromptViews;
  readonly clock: Clock;
}

/** What a call of the page came to. */
export type PageResult<Body> =
  | { readonly kind: 'answered'; readonly body: Body }
  | { readonly kind: 'refused'; readonly problem: Problem };

const PAGE_MAX = 100;
const PAGE_DEFAULT = 20;

const ListQuery = z.object({
  state: z.enum(['open', 'closed']).default('open'),
  limit: z
    .string()
    .regex(/^\d{1,3}$/)
    .transform(Number)
    .pipe(z.number().min(1).max(PAGE_MAX))
    .default(PAGE_DEFAULT),
  /** A position in the log, as `next` gave it. */
  after: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .optional(),
});

/** The calls of the approver's page (fallback 1.2, 6). Each rejects with LogUnavailable or LogBusy. */
export class PromptCalls {
  readonly #options: PromptCallsOptions;

  constructor(options: PromptCallsOptions) {
    this.#options = options;
  }

  me({ subject, ...caller }: Caller): CallerView {
    const may = (scope: 'consent' | 'audit' | 'unseal' | 'operate') => mayDo({ subject, ...caller }, scope);
    return {
      subject,
      authenticated: subject !== LOCAL_SUBJECT,
      may: { consent: may('consent'), audit: may('audit'), unseal: may('unseal'), operate: may('operate') },
    };
  }

  /** A page of open or closed questions, newest first. Reading a list renews nothing. */
  async list(query: unknown, caller: Caller): Promise<PageResult<PromptPage>> {
    if (!mayRead(caller)) return refused(problem('not_permitted'));
    const parsed = parseQuery(ListQuery, query);
    if (!parsed.ok) return refused(parsed.problem);
    const { reader, views } = this.#options;
    const { state, limit, after } = parsed.value;
    const page = await (state === 'open' ? reader.open(limit, after) : reader.closed(limit, after));
    const prompts = await Promise.all(page.questions.map((question) => views.of(question, caller)));
    return answered({ prompts, next: page.nextBefore === null ? null : String(page.nextBefore) });
  }

  /** One question by any id that it ever had. Read by somebody who may answer it, an expired one is renewed. */
  async one(id: string, caller: Caller): Promise<PageResult<PromptView>> {
    if (!mayRead(caller)) return refused(problem('not_permitted'));
    const question = await this.#options.reader.byId(id);
    if (question === null) return refused(problem('not_found'));
    const current = mayDo(caller, 'consent') ? await this.#renewed(question) : question;
    return answered(await this.#options.views.of(current, caller));
  }

  /**
   * Takes a yes or no to one question. Name and token are ours to know: the answer goes the way of every other
   * one. A question that is no longer the open one is 409, with who answered it and when.
   */
  async answer(call: {
    readonly id: string;
    readonly body: unknown;
    readonly sentId: string | null;
    readonly caller: Caller;
  }): Promise<PageResult<AnswerTaken>> {
    const { id, caller } = call;
    const parsed = parseBody(PromptAnswerBody, call.body);
    if (!parsed.ok) return refused(parsed.problem);
    const name = nameOf(call.sentId);
    if (name === 'refused') return refused(problem('invalid_body', { errors: [ID_REFUSED] }));
    if (!mayDo(caller, 'consent')) return refused(problem('not_permitted'));
    const found = await this.#options.reader.byId(id);
    if (found === null) return refused(problem('not_found'));

    const { accept } = parsed.value;
    const question = accept ? await this.#renewed(found) : found;
    const place = await this.#options.streams.ofStream(question.asked.row.stream);
    const result = await this.#options.answers.answerAt(
      place,
      {
        accept,
        token: accept && question.end === null ? this.#tokenOf(question, place) : null,
        question: question.id,
        content: { prompt: question.asked.row.eventId, accept },
      },
      name,
      caller.subject,
    );
    const after = await this.#shown(id, caller);
    if (result.kind === 'answered') return answered({ ok: true, prompt: after });
    return refused(
      result.problem.status === 409 ? problem(result.problem.name, { prompt: after }) : result.problem,
    );
  }

  /** The question under the id by which it may be answered now. */
  async #renewed(question: RecordedQuestion): Promise<RecordedQuestion> {
    const { reader, renewal, clock } = this.#options;
    if (question.end !== null || !isExpired(question, clock.now())) return question;
    const { eventId, stream } = question.asked.row;
    await renewal.newestIdOf(stream, eventId);
    return (await reader.byId(eventId)) ?? question;
  }

  async #shown(id: string, caller: Caller): Promise<PromptView> {
    const question = await this.#options.reader.byId(id);
    if (question === null) throw new Error('a question that was answered is not in the log any more');
    return this.#options.views.of(question, caller);
  }

  #tokenOf({ id, asked, placement }: RecordedQuestion, { key, ref }: FoundStream): string {
    const { actionDigest } = asked.data;
    if (asked.type === 'FailoverPrompted' && placement !== null) {
      const action = proposedFailover(placement, asked.data.escalation, { ref, digestOf: streamDigest(key) });
      // Whoever accepted would agree to something else than what is recorded.
      if (action.digest !== actionDigest) {
        throw new Error(`the action at position ${asked.row.pos} is another one`);
      }
    }
    return confirmToken(key, { deployment: this.#options.deployment, ref, actionDigest, questionId: id });
  }
}

/** Approvers and auditors see questions; what is sealed in them needs more (fallback 7). */
export function mayRead(caller: Caller): boolean {
  return mayDo(caller, 'consent') || mayDo(caller, 'audit');
}

function nameOf(sentId: string | null): AnswerName | null | 'refused' {
  if (sentId === null) return null;
  const id = CallerId.safeParse(sentId);
  return id.success ? { kind: 'caller', id: id.data } : 'refused';
}

/** The id stands beside the body, in a header: the pointer says which. */
const ID_REFUSED = { pointer: '/idempotency_key', code: 'invalid' } as const;

function answered<Body>(body: Body): PageResult<Body> {
  return { kind: 'answered', body };
}

function refused(refusal: Problem): { readonly kind: 'refused'; readonly problem: Problem } {
  return { kind: 'refused', problem: refusal };
}
