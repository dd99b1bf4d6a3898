import { z } from 'zod';

/** Bounds of fallback 8, in characters. */
export const NAME_MAX_CHARS = 256;
export const ATTEMPT_ID_MAX_CHARS = 200;
export const CODE_MAX_CHARS = 256;
export const FINGERPRINT_MAX_CHARS = 1_024;
export const MESSAGE_MAX_CHARS = 65_536;
export const TEXT_MAX_CHARS = 1_024;

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Well-formed Unicode of at most `maxChars` characters (code points, so that an emoji is one). */
export function text(maxChars: number) {
  return z.string().check((ctx) => {
    if (LONE_SURROGATE.test(ctx.value)) {
      ctx.issues.push({ code: 'custom', input: ctx.value, params: { code: 'invalid_unicode' } });
    } else if (longerThan(ctx.value, maxChars)) {
      ctx.issues.push({ code: 'custom', input: ctx.value, params: { code: 'too_long' } });
    }
  });
}

function longerThan(value: string, maxChars: number): boolean {
  if (value.length <= maxChars) return false;
  let chars = 0;
  for (const _ of value) {
    chars += 1;
    if (chars > maxChars) return true;
  }
  return false;
}

/** Null means absent (fallback 1). */
export const optional = <Shape extends z.ZodType>(shape: Shape) =>
  shape.nullish().transform((value) => value ?? undefined);

/** A whole number up to 2^53-1 either way; a broken one is of the wrong type (fallback 8). */
export const wholeNumber = z.number().check((ctx) => {
  if (Number.isSafeInteger(ctx.value)) return;
  ctx.issues.push({
    code: 'custom',
    input: ctx.value,
    params: { code: Number.isInteger(ctx.value) ? 'out_of_range' : 'wrong_type' },
  });
});

/** The 13 invariants as a caller may send them: each optional, bounded, not yet judged (fallback 4). */
export const invariantMembers = {
  gpu_family: optional(text(TEXT_MAX_CHARS)),
  gpu_product: optional(text(TEXT_MAX_CHARS)),
  gpu_count: optional(wholeNumber),
  image: optional(text(TEXT_MAX_CHARS)),
  image_digest: optional(text(TEXT_MAX_CHARS)),
  sm: optional(text(TEXT_MAX_CHARS)),
  rt_cores_required: optional(z.boolean()),
  backend: optional(text(TEXT_MAX_CHARS)),
  model: optional(text(TEXT_MAX_CHARS)),
  workload_tier: optional(text(TEXT_MAX_CHARS)),
  execution_mode: optional(text(TEXT_MAX_CHARS)),
  boot_disk_count: optional(wholeNumber),
  boot_disk_size_bytes: optional(wholeNumber),
};

/** Trimmed, then 1-256 characters (fallback 1.1). */
export const LogicalAllocation = z
  .string()
  .transform((value) => value.trim())
  .pipe(text(NAME_MAX_CHARS).min(1));

/** An id that a caller chose for one message: header `Idempotency-Key`, `attempt_id`, or the bus header. */
export const CallerId = text(ATTEMPT_ID_MAX_CHARS).min(1);

const requestMembers = z.object({ ...invariantMembers, pool: optional(text(TEXT_MAX_CHARS)) });

/** An object with at least one member of its own, whatever its name: an unknown one is ignored, but counts. */
const objectWithMembers = z.unknown().check((ctx) => {
  if (typeof ctx.value !== 'object' || ctx.value === null || Array.isArray(ctx.value)) {
    // Null means absent, and this member may not be.
    const code = ctx.value === undefined || ctx.value === null ? 'required' : 'wrong_type';
    ctx.issues.push({ code: 'custom', input: ctx.value, params: { code } });
  } else if (Object.keys(ctx.value).length === 0) {
    ctx.issues.push({ code: 'custom', input: ctx.value, params: { code: 'empty' } });
  }
});

/**
 * The body of `POST .../attempt` (fallback 1.1). Unknown members are ignored at every level; null is absent,
 * except that `success: null` is refused.
 */
export const AttemptBody = z.object({
  logical_allocation: LogicalAllocation,
  request: objectWithMembers.pipe(requestMembers),
  failure: optional(
    z.object({ code: optional(text(CODE_MAX_CHARS)), message: optional(text(MESSAGE_MAX_CHARS)) }),
  ),
  evidence: optional(
    z.object({
      source: optional(text(TEXT_MAX_CHARS)),
      on_demand_impossible: optional(z.boolean()),
      preemptible_available: optional(z.boolean()),
      fingerprint: optional(text(FINGERPRINT_MAX_CHARS)),
    }),
  ),
  preemptible_candidate: optional(requestMembers),
  success: z.boolean().optional(),
  attempt_id: optional(CallerId),
});
export type AttemptBody = z.output<typeof AttemptBody>;
