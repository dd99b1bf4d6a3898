import { CallerId } from '#domain/attempt/attempt-body';
import { ConsentBody } from '#domain/consent/consent-body';
import { type Caller, mayDo } from '#platform/auth';
import { parseBody, problem } from '#platform/problem';
import type { AnswerName, ConsentAnswers, ConsentResult } from './consent-answers.ts';

/** One answer from its body to its result, the same by HTTP and by the bus (fallback 1.2, 1.5). */
export class ConsentCalls {
  constructor(private readonly answers: ConsentAnswers) {}

  /** Checks in the order of fallback 1.2: shape, caller, then what the log says. */
  async consent(call: {
    readonly body: unknown;
    readonly sentId: string | null;
    readonly messageName: AnswerName | null;
    readonly caller: Caller;
  }): Promise<ConsentResult> {
    const parsed = parseBody(ConsentBody, call.body);
    if (!parsed.ok) return { kind: 'refused', problem: parsed.problem };
    const id = call.sentId === null ? null : CallerId.safeParse(call.sentId);
    if (id?.success === false) {
      return { kind: 'refused', problem: problem('invalid_body', { errors: [ID_REFUSED] }) };
    }
    const name = id === null ? call.messageName : ({ kind: 'caller', id: id.data } as const);
    if (!mayDo(call.caller, 'consent')) return { kind: 'refused', problem: problem('not_permitted') };
    return this.answers.answer(parsed.value, name, call.caller.subject);
  }
}

/** The id stands beside the body, in a header: the pointer says which. */
const ID_REFUSED = { pointer: '/idempotency_key', code: 'invalid' } as const;
