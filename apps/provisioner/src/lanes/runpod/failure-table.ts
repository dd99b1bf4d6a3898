import { z } from 'zod';
import type { LaneCall, LaneFailureKind } from '#domain/provision/lane';
import type { Verdict } from '../failure.ts';
import { kindOfStatus } from '../status-map.ts';

/** Runpod's errors (RFC 9457). There is no machine-readable code: only the status and the text of `detail`. */
const Problem = z.object({ status: z.number(), detail: z.string() });

export interface RunpodFailureRow {
  /** Stands in events in place of a code that the provider does not give. */
  readonly code: string;
  readonly calls: 'create' | 'any';
  readonly status: number;
  /** What `detail` must say; null = whatever it says. */
  readonly says: RegExp | null;
  readonly kind: LaneFailureKind;
  readonly reason: string;
}

/**
 * The shortage phrases are those that were seen on this API and its predecessors. They are looked for in a 400
 * of a create only: a 400 that says something else is a broken rule, and a 5xx may have made the pod.
 */
export const RUNPOD_FAILURES: readonly RunpodFailureRow[] = [
  {
    code: 'no_instances_available',
    calls: 'create',
    status: 400,
    says: /no (longer any|available|free) (instances?|machines?|gpus?)|no instances? (is|are|currently) available/i,
    kind: 'capacity',
    reason: 'It names instances and says that there are none.',
  },
  {
    code: 'not_enough_resources',
    calls: 'create',
    status: 400,
    says: /(does not have the|not enough|insufficient) (free )?(resources|gpus?|capacity)/i,
    kind: 'capacity',
    reason: 'The machine that was found cannot hold the pod.',
  },
  {
    code: 'no_placement',
    calls: 'create',
    status: 400,
    says: /(could not be|cannot be|unable to be|failed to be) placed|(could not|unable to|failed to) (find a placement|place (the|this|your) pod)/i,
    kind: 'capacity',
    reason: 'GPU and data centre are allowed, and no place was found.',
  },
  {
    code: 'pool_not_allowed',
    calls: 'create',
    status: 403,
    says: /\b(pool|secure cloud|community cloud|gpu type)\b/i,
    kind: 'rejected',
    reason: 'The account may not use this pool: another request may pass, another key is not needed.',
  },
  {
    code: 'bad_request',
    calls: 'create',
    status: 400,
    says: null,
    kind: 'rejected',
    reason: 'Any other 400 breaks a rule; it fails in the same way every time.',
  },
  {
    code: 'gone',
    calls: 'any',
    status: 410,
    says: null,
    kind: 'unavailable',
    reason: 'This interface has been switched off: our configuration, not the state of a pod.',
  },
];

/** The host of the REST API before v2, which is being switched off. */
const OLD_HOST = 'rest.runpod.io';

/** What an answer means (providers 3). `host` is the one that was asked. */
export function runpodVerdict(call: LaneCall, status: number, json: unknown, host: string): Verdict {
  const problem = Problem.safeParse(json);
  const readable = problem.success ? 'readable' : 'unreadable';
  if (host === OLD_HOST && (status === 404 || status === 410)) {
    return { kind: 'unavailable', code: 'gone', codeIsKnown: true };
  }
  const row = problem.success ? rowOf(call, status, problem.data.detail) : undefined;
  if (row !== undefined) return { kind: row.kind, code: row.code, codeIsKnown: true };
  return { kind: kindOfStatus(call, status, readable), code: null, codeIsKnown: false };
}

function rowOf(call: LaneCall, status: number, detail: string): RunpodFailureRow | undefined {
  return RUNPOD_FAILURES.find(
    (row) =>
      row.status === status &&
      (row.calls === 'any' || row.calls === call) &&
      (row.says === null || row.says.test(detail)),
  );
}
