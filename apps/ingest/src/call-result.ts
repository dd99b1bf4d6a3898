import { PROBLEM_NAMES, type Problem, type ProblemName } from '#platform/problem';

/** What a call ends in; each way in (HTTP, bus) maps it to its own form. */
export type CallResult =
  | { readonly kind: 'answered'; readonly body: object }
  /** Recorded; the answer will be at the location. */
  | { readonly kind: 'undecided'; readonly body: object; readonly location: string }
  | { readonly kind: 'refused'; readonly problem: Problem };

/** `answered`, `undecided`, or the name of the problem that refused the call. */
export type CallOutcome = 'answered' | 'undecided' | ProblemName;
export const CALL_OUTCOMES: readonly CallOutcome[] = ['answered', 'undecided', ...PROBLEM_NAMES];

/** Told how each call ended and how long it took. */
export type OnCall = (outcome: CallOutcome, tookMs: number) => void;

/** Runs a call and tells how it ended; a call that rejects is not told of. */
export async function told(onCall: OnCall, call: () => Promise<CallResult>): Promise<CallResult> {
  const beganMs = performance.now();
  const result = await call();
  onCall(result.kind === 'refused' ? result.problem.name : result.kind, performance.now() - beganMs);
  return result;
}
