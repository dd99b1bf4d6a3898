import { z } from 'zod';
import type { LaneCall, LaneFailureKind } from '#domain/provision/lane';
import type { Verdict } from '../failure.ts';
import { kindOfSilence, kindOfStatus, worstOf } from '../status-map.ts';

export interface GcpFailureRow {
  readonly codes: readonly string[];
  readonly kind: LaneFailureKind | 'unsettled' | 'summary';
  readonly reason: string;
}

/**
 * Codes of Compute, as reason of an HTTP error, code of an operation's error or reason of its ErrorInfo.
 * `unsettled` = may still happen: unknown of a create, else unavailable. `summary` = says nothing alone.
 */
export const GCP_FAILURES: readonly GcpFailureRow[] = [
  {
    codes: [
      'ZONE_RESOURCE_POOL_EXHAUSTED',
      'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
      'RESOURCE_POOL_EXHAUSTED',
      'REGION_RESOURCE_POOL_EXHAUSTED',
      'INSUFFICIENT_CAPACITY',
      'insufficientCapacity',
      'resource_availability',
    ],
    kind: 'capacity',
    reason: 'The zone or region says that it has no room for this machine.',
  },
  {
    codes: ['QUOTA_EXCEEDED', 'quotaExceeded'],
    kind: 'quota',
    reason: 'A limit of the project is reached; which one stands in the text.',
  },
  {
    codes: ['VM_MIN_COUNT_NOT_REACHED'],
    kind: 'summary',
    reason: 'It only sums up: the second code says why.',
  },
  {
    codes: ['rateLimitExceeded', 'userRateLimitExceeded', 'RESOURCE_OPERATION_RATE_EXCEEDED'],
    kind: 'rate_limited',
    reason: 'Too many requests; nothing about machines.',
  },
  {
    codes: ['authError', 'forbidden', 'required', 'accessNotConfigured', 'accountDisabled'],
    kind: 'auth',
    reason: 'The credential or the project may not do this.',
  },
  {
    codes: ['invalid', 'IP_SPACE_EXHAUSTED', 'CONDITION_NOT_MET', 'UNSUPPORTED_OPERATION'],
    kind: 'rejected',
    reason: 'The request cannot be served as it is; addresses are not machines.',
  },
  {
    codes: ['RESOURCE_NOT_READY'],
    kind: 'unsettled',
    reason: 'Something that it needs is still being made, perhaps by this very request.',
  },
  { codes: ['notFound'], kind: 'not_found', reason: 'Compute itself says that there is no such thing.' },
];

const HttpError = z.object({
  error: z.object({
    code: z.number(),
    message: z.string().catch(''),
    errors: z.array(z.object({ reason: z.string() })).catch([]),
    details: z.array(z.looseObject({ reason: z.string().optional().catch(undefined) })).catch([]),
  }),
});

/** What an HTTP answer means: ErrorInfo first, then the reasons, then the status (providers 1.2). */
export function gcpVerdict(call: LaneCall, status: number, json: unknown): Verdict {
  const error = HttpError.safeParse(json).data?.error;
  if (error === undefined)
    return { kind: kindOfStatus(call, status, 'unreadable'), code: null, codeIsKnown: false };
  const details = error.details.flatMap(({ reason }) => (reason === undefined ? [] : [reason]));
  const reasons = error.errors.map(({ reason }) => reason);
  return (
    verdictOf(call, details) ??
    verdictOf(call, reasons) ?? {
      kind: kindOfStatus(call, status, 'readable'),
      code: details[0] ?? reasons[0] ?? null,
      codeIsKnown: false,
    }
  );
}

/** Errors of a finished operation. DONE does not mean success (providers 2). */
export const OperationErrors = z.array(
  z.object({
    code: z.string(),
    message: z.string().catch(''),
    errorDetails: z
      .array(z.looseObject({ errorInfo: z.object({ reason: z.string() }).optional().catch(undefined) }))
      .catch([]),
  }),
);
export type OperationErrors = z.output<typeof OperationErrors>;

/** What the errors of a finished operation mean; `httpStatus` is the one that it names, if it names one. */
export function operationVerdict(
  call: LaneCall,
  errors: OperationErrors,
  httpStatus: number | null,
): Verdict {
  const details = errors.flatMap(({ errorDetails }) =>
    errorDetails.flatMap(({ errorInfo }) => (errorInfo === undefined ? [] : [errorInfo.reason])),
  );
  const codes = errors.map(({ code }) => code);
  const known = [verdictOf(call, details), verdictOf(call, codes)].filter((verdict) => verdict !== null);
  // An operation that has ended with an error has ended: of what is not known only a 5xx stays open.
  const unknown = {
    kind:
      httpStatus === null ? kindOfStatus(call, 400, 'readable') : kindOfStatus(call, httpStatus, 'readable'),
    code: codes[0] ?? null,
    codeIsKnown: false,
  };
  return worstOf(known) ?? unknown;
}

/** The verdict over the codes that are rows of the table; null if none is. */
function verdictOf(call: LaneCall, codes: readonly string[]): Verdict | null {
  const verdicts = codes.flatMap((code) => {
    const row = GCP_FAILURES.find((candidate) => candidate.codes.includes(code));
    if (row === undefined || row.kind === 'summary') return [];
    const kind = row.kind === 'unsettled' ? kindOfSilence(call, true) : kindFor(call, row.kind);
    return [{ kind, code, codeIsKnown: true }];
  });
  return worstOf(verdicts);
}

/** Of a create it is not the instance that is missing. */
function kindFor(call: LaneCall, kind: LaneFailureKind): LaneFailureKind {
  return kind === 'not_found' && call === 'create' ? 'rejected' : kind;
}
