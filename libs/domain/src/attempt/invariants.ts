/** The 13 invariants in their order (fallback 4): what "the identical allocation" means. */
export const INVARIANTS = [
  'gpu_family',
  'gpu_product',
  'gpu_count',
  'image',
  'image_digest',
  'sm',
  'rt_cores_required',
  'backend',
  'model',
  'workload_tier',
  'execution_mode',
  'boot_disk_count',
  'boot_disk_size_bytes',
] as const;
export type InvariantName = (typeof INVARIANTS)[number];

/** Invariants as reported: absent and null ones are left out. */
export type Invariants = { readonly [Name in InvariantName]?: string | number | boolean | undefined };

/** Present and in range: text not empty, a whole number above 0, any boolean (`false` is present). */
export function isValidInvariant(value: string | number | boolean | undefined): boolean {
  if (typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0;
  return value !== undefined && value !== '';
}

/** All 13 with absent ones as null: what the request digest is made of (fallback 5). */
export function invariantsOf(request: Invariants): Record<InvariantName, string | number | boolean | null> {
  const all = INVARIANTS.map((name) => [name, request[name] ?? null] as const);
  return Object.fromEntries(all) as Record<InvariantName, string | number | boolean | null>;
}
