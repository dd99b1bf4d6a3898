import type { LaneCall, LaneFailure, LaneFailureKind } from '#domain/provision/lane';
import { LANE_FAILURES } from '#events/plan';
import type { CallScript, CreateScript } from './answers.ts';

interface FailureChange {
  readonly status?: number | null;
  readonly text?: string;
  readonly sent?: boolean;
  readonly retryAfterS?: number | null;
}

type Failed = { readonly kind: 'failed'; readonly failure: LaneFailure };

/** A failed call as a driver reports it. */
export function laneFailure(
  provider: string,
  call: LaneCall,
  kind: LaneFailureKind,
  { status = null, text = `${call}: ${kind}`, sent = true, retryAfterS = null }: FailureChange = {},
): Failed {
  const failure: LaneFailure = {
    kind,
    provider,
    call,
    status,
    code: kind,
    codeIsKnown: true,
    text,
    retryAfterS,
    sent,
  };
  return { kind: 'failed', failure };
}

/** Whether a call is to fail, and does not end in one of the lane's own ways. */
export function isFailure(answer: string): answer is Exclude<CallScript, 'ok'> {
  return answer === 'fails' || LANE_FAILURES.some((kind) => kind === answer);
}

/** A call that fails as its script says. */
export function scriptedFailure(provider: string, call: LaneCall, answer: Exclude<CallScript, 'ok'>): Failed {
  const kind = answer === 'fails' ? 'unavailable' : answer;
  return laneFailure(provider, call, kind, { status: 503 });
}

/** A create that was refused: nothing was made, and an `unavailable` one was not even sent. */
export function refusedCreate(
  provider: string,
  answer: Extract<CreateScript, { readonly kind: 'refused' }>,
): Failed {
  const { failure, status } = answer;
  const retryAfterS = answer.retryAfterS ?? null;
  return laneFailure(provider, 'create', failure, { status, retryAfterS, sent: failure !== 'unavailable' });
}
