import type { LaneCall, LaneFailureKind } from '#domain/provision/lane';

/** Whether the provider itself can be heard in an answer, or only something in front of it. */
export type Readable = 'readable' | 'unreadable';

/** Calls that change something which cannot be taken back by looking away. */
const MAKES_SOMETHING: ReadonlySet<LaneCall> = new Set<LaneCall>(['create', 'dispatch']);

interface StatusRow {
  readonly status: number | 'other 4xx' | 'any other';
  readonly making: LaneFailureKind;
  readonly reading: LaneFailureKind;
  readonly reason: string;
}

/** The common status map (providers 1): what a status means where a driver says nothing else. */
export const STATUS_MAP: readonly StatusRow[] = [
  {
    status: 401,
    making: 'auth',
    reading: 'auth',
    reason: 'The credential was refused at the door.',
  },
  {
    status: 402,
    making: 'balance',
    reading: 'balance',
    reason: 'The account has no money left; no other request will fare better.',
  },
  {
    status: 403,
    making: 'auth',
    reading: 'auth',
    reason: 'Without a quota reason it says that the account may not do this.',
  },
  {
    status: 404,
    making: 'rejected',
    reading: 'not_found',
    reason: 'Of a create it is the place or a thing named in it that is missing, not an instance.',
  },
  {
    status: 408,
    making: 'outcome_unknown',
    reading: 'unavailable',
    reason: 'The server gave up waiting, in the middle of something.',
  },
  {
    status: 429,
    making: 'rate_limited',
    reading: 'rate_limited',
    reason: 'Nothing was begun: the same request may be sent later.',
  },
  {
    status: 'other 4xx',
    making: 'rejected',
    reading: 'rejected',
    reason: 'A refusal that is not recognised is the request’s fault, never a shortage.',
  },
  {
    status: 'any other',
    making: 'outcome_unknown',
    reading: 'unavailable',
    reason: '5xx, redirects and nonsense say nothing about what has happened.',
  },
];

/** Refusals at the door: they mean the same, whoever in the chain says them. */
const AT_THE_DOOR: ReadonlySet<number> = new Set([401, 403, 429]);

/**
 * What a status means for a call (providers 1). An unreadable body is somebody else's page: it is never
 * `not_found` and never `rejected`, because it is not known to be the provider's answer.
 */
export function kindOfStatus(call: LaneCall, status: number, readable: Readable): LaneFailureKind {
  if (readable === 'unreadable' && !AT_THE_DOOR.has(status)) return kindOfSilence(call, true);
  const row =
    STATUS_MAP.find((candidate) => candidate.status === status) ??
    STATUS_MAP.find(({ status: any }) => any === (isRefusal(status) ? 'other 4xx' : 'any other'));
  if (row === undefined) throw new Error('the status map has a last row');
  return MAKES_SOMETHING.has(call) ? row.making : row.reading;
}

/** What it means that no answer came: only a call that makes something can have made it (providers 1.3). */
export function kindOfSilence(call: LaneCall, sent: boolean): LaneFailureKind {
  return sent && MAKES_SOMETHING.has(call) ? 'outcome_unknown' : 'unavailable';
}

/**
 * Which of several meanings in one answer counts (providers 1.2). An unknown outcome comes before all of them:
 * whoever looks once too often loses a minute, whoever does not look loses an instance.
 */
export const WORST_FIRST: readonly LaneFailureKind[] = [
  'outcome_unknown',
  'auth',
  'rejected',
  'balance',
  'quota',
  'capacity',
  'rate_limited',
  'not_found',
  'unavailable',
];

/** The most important of several verdicts of one answer; the first of equals. Null if there is none. */
export function worstOf<Verdict extends { readonly kind: LaneFailureKind }>(
  verdicts: readonly Verdict[],
): Verdict | null {
  for (const kind of WORST_FIRST) {
    const found = verdicts.find((verdict) => verdict.kind === kind);
    if (found !== undefined) return found;
  }
  return null;
}

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500;
}
