import type { LaneCall, LaneFailure, LaneFailureKind } from '#domain/provision/lane';

interface FailureChange {
  readonly status?: number | null;
  readonly text?: string;
  readonly sent?: boolean;
}

/** A failed call as a driver reports it. */
export function laneFailure(
  provider: string,
  call: LaneCall,
  kind: LaneFailureKind,
  { status = null, text = `${call}: ${kind}`, sent = true }: FailureChange = {},
): { readonly kind: 'failed'; readonly failure: LaneFailure } {
  const failure: LaneFailure = {
    kind,
    provider,
    call,
    status,
    code: kind,
    codeIsKnown: true,
    text,
    retryAfterS: null,
    sent,
  };
  return { kind: 'failed', failure };
}
