import { z } from 'zod';

/** The providers that the stand-in plays. */
export const CLOUD_LANES = ['runpod', 'gcp', 'kubernetes'] as const;
export type CloudLane = (typeof CLOUD_LANES)[number];

/** What can be scripted: the driver's calls, the follow-up of an operation, and the agent of a pod. */
export const CLOUD_CALLS = [
  'probe_lane',
  'create',
  'follow',
  'list',
  'get',
  'operations',
  'terminate',
  'guest',
  'agent_status',
  'agent_bootstrap',
  'agent_start',
] as const;
export type CloudCall = (typeof CLOUD_CALLS)[number];

/** What the caller is told. The words of each provider are in its own file. */
export const ANSWERS = [
  'ok',
  'capacity',
  'quota',
  'rejected',
  'auth',
  'balance',
  'rate_limited',
  'not_found',
  'unavailable',
  'error',
  /** The given `status`, `headers` and `body`, nothing else. */
  'status',
  /** Never answered: the connection stays open until the caller gives up. */
  'hang',
  /** The connection is cut without an answer. */
  'reset',
  /** A gateway's page, status 502 unless another is given. */
  'html',
  /** A good status with a body that is no JSON. */
  'garbage',
  /** JSON of another shape. */
  'wrong_shape',
  /** Only of a list: it admits that a part is missing. */
  'partial',
] as const;
export type Answer = (typeof ANSWERS)[number];

/**
 * One step of a script. `effect` says whether the call does what it asks for: `done` before the answer, `late`
 * after `afterS` seconds of the cloud's clock, `none` never. Without it, `ok` has its effect and nothing else.
 */
export const Step = z.strictObject({
  answer: z.enum(ANSWERS).default('ok'),
  effect: z.enum(['none', 'done', 'late']).optional(),
  afterS: z.number().nonnegative().default(0),
  status: z.int().min(200).max(599).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.unknown().optional(),
  retryAfterS: z.number().nonnegative().optional(),
});
export type Step = z.infer<typeof Step>;
export type StepInput = z.input<typeof Step>;

const WORKS: Step = { answer: 'ok', afterS: 0 };

/** Scripted answers, taken in order. The last one repeats, unless the script was given as `once`. */
export class Scripts {
  readonly #steps = new Map<string, { readonly left: Step[]; readonly once: boolean }>();

  /** Replaces the script of one call. No steps = the call works again. */
  set(lane: CloudLane, call: CloudCall, steps: readonly Step[], once: boolean): void {
    if (steps.length === 0) this.#steps.delete(keyOf(lane, call));
    else this.#steps.set(keyOf(lane, call), { left: [...steps], once });
  }

  clear(): void {
    this.#steps.clear();
  }

  next(lane: CloudLane, call: CloudCall): Step {
    const script = this.#steps.get(keyOf(lane, call));
    const step = script?.left[0];
    if (script === undefined || step === undefined) return WORKS;
    if (script.left.length > 1 || script.once) script.left.shift();
    return step;
  }
}

const keyOf = (lane: CloudLane, call: CloudCall) => `${lane} ${call}`;

/** Whether the step lets the call do what it asks for, and when. */
export function effectOf(step: Step): 'none' | 'done' | 'late' {
  return step.effect ?? (step.answer === 'ok' ? 'done' : 'none');
}
