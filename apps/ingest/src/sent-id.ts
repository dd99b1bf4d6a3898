import type { z } from 'zod';
import type { AttemptName } from '#domain/attempt/attempt-ids';
import { type Parsed, type Problem, parseBody, problem } from '#platform/problem';

export type SentId =
  | { readonly kind: 'named'; readonly name: AttemptName | null }
  | { readonly kind: 'refused'; readonly problem: Problem };

/** Where a call's id may stand: a member of the body, and beside it in a header. */
export interface IdPlaces {
  readonly inBody: string | undefined;
  readonly beside: string | null;
  readonly form: z.ZodType<string>;
  /** The member of the body, for the refusal. */
  readonly pointer: string;
}

/** The id of the body or beside it: both and different is a refusal of the member (fallback 1.1, failover 2.1). */
export function sentId({ inBody, beside, form, pointer }: IdPlaces): SentId {
  if (beside === null) {
    return { kind: 'named', name: inBody === undefined ? null : { kind: 'caller', id: inBody } };
  }
  const sent: Parsed<string> = parseBody(form, beside);
  if (!sent.ok || (inBody !== undefined && inBody !== sent.value)) {
    const code = sent.ok ? 'mismatch' : 'invalid';
    return { kind: 'refused', problem: problem('invalid_body', { errors: [{ pointer, code }] }) };
  }
  return { kind: 'named', name: { kind: 'caller', id: sent.value } };
}
