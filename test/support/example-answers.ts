import { type Allocation, UNKNOWN_ALLOCATION } from '#domain/allocation';
import { attemptAnswer, consentAnswer, type ShownQuestion } from '#domain/attempt/answer';
import { assessAttempt, attemptBodyDigest } from '#domain/attempt/assess';
import { AttemptBody } from '#domain/attempt/attempt-body';
import { attemptCommandId, decisionIdOf } from '#domain/attempt/attempt-ids';
import { classify } from '#domain/classify/classify';
import { confirmToken } from '#domain/consent/confirm-token';
import { decideConsent } from '#domain/consent/consent';
import { keyRing } from '#domain/key-ring';
import { decideAttempt } from '#domain/prompt/prompt';
import { eventIdOf } from '#events/envelope';
import { DEFAULT_RULES, idOf, T0 } from './builders.ts';
import { recorded } from './recorded.ts';

// Any key would do: the examples of the API's description are made under this one.
const KEY = keyRing([{ id: 'example', bytes: Buffer.alloc(32, 'example') }]).newest;

/** One allocation that is told what happened, step by step, and answers as the apps would. */
export class AnsweringAllocation {
  #state: Allocation = UNKNOWN_ALLOCATION;
  #ref = '';

  /** The 200 body of an attempt as the caller sent it. */
  attempt(sent: unknown) {
    const body = AttemptBody.parse(sent);
    const assessed = assessAttempt(body, KEY);
    const { ref, proof, compatible, blockers } = assessed;
    const id = { kind: 'caller', id: body.attempt_id ?? '' } as const;
    const attemptEventId = eventIdOf(attemptCommandId(id, KEY), 0);
    const decisionId = decisionIdOf(attemptEventId);
    const { state, ...decided } = decideAttempt(
      this.#state,
      {
        input: {
          ringKeyId: KEY.id,
          attemptIdDigest: null,
          bodyDigest: attemptBodyDigest(body, KEY),
          reportedBy: 'local',
          success: assessed.success,
          pool: assessed.pool,
          requestDigest: assessed.requestDigest,
          evidenceDigest: assessed.evidenceDigest,
          actionDigest: assessed.actionDigest,
          proof,
          compatible,
          blockers: [...blockers],
          failureDigest: assessed.failureDigest,
        },
        recordedAt: T0,
        decidedAt: T0,
        decisionId,
        classification: classify(body.failure ?? {}),
      },
      DEFAULT_RULES,
    );
    this.#state = state;
    this.#ref = ref;
    const decision = recorded({ ...decided, eventId: decisionId }, state.version);
    if (!isAttemptDecision(decision)) throw new Error(`${decision.type} decides no attempt`);
    const subject = { deployment: 'local', ref, actionDigest: assessed.actionDigest, questionId: decisionId };
    const question: ShownQuestion | null =
      decision.type === 'FallbackPrompted'
        ? {
            kind: 'shown',
            token: confirmToken(KEY, subject),
            invariants: assessed.invariants,
            renewed: false,
          }
        : null;
    return attemptAnswer({ ref, attemptEventId, decision, after: state, question });
  }

  /** The 200 body of an answer that is taken. */
  consent(accept: boolean) {
    const outcome = decideConsent(this.#state, {
      accept,
      question: null,
      tokenMatches: accept,
      answeredBy: 'local',
      decisionId: idOf('answer'),
      at: T0,
    });
    if (outcome.kind === 'refused') throw new Error(`the answer is refused: ${outcome.why}`);
    this.#state = outcome.state;
    return consentAnswer(this.#ref, outcome.state);
  }
}

type AttemptDecision = Parameters<typeof attemptAnswer>[0]['decision'];

function isAttemptDecision(event: { readonly type: string }): event is AttemptDecision {
  return ['AttemptTracked', 'AttemptIgnored', 'AllocationSucceeded', 'FallbackPrompted'].includes(event.type);
}
