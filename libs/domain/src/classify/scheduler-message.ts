/** What a message in the grammar of the Kubernetes scheduler says (fallback 2.5). */
export type SchedulerVerdict = 'gpu' | 'product' | 'other';

/**
 * Reads `0/N nodes are available: <n> <reason>, <n> <reason>. preemption: ...`; undefined when the text has
 * no such form. A GPU resource that is short decides, also beside other reasons. Node affinity decides only
 * alone, because beside a taint or a CPU shortage it is not what keeps the pod waiting.
 */
export function schedulerVerdict(text: string): SchedulerVerdict | undefined {
  const reasons = schedulerReasons(text);
  if (reasons === undefined) return undefined;
  if (reasons.some((reason) => shortResource(reason, isGpuResource))) return 'gpu';
  return reasons.length > 0 && reasons.every((reason) => NODE_AFFINITY.test(reason)) ? 'product' : 'other';
}

/**
 * What a ResourceQuota denial is about: `is forbidden: exceeded quota: <name>, requested: <r>=<n>, used: ...,
 * limited: ...`. Undefined when the text is none. The name of the quota says nothing.
 */
export function quotaDenial(text: string): 'gpu' | 'other' | undefined {
  if (!/exceeded quota: ?\S/.test(text)) return isQuotaDenial(text) ? 'other' : undefined;

  const requested = amounts(text, 'requested');
  const used = amounts(text, 'used');
  const limited = amounts(text, 'limited');
  const exceeded = [...requested.keys()].filter((resource) => {
    const room = (limited.get(resource) ?? Number.NaN) - (used.get(resource) ?? 0);
    return !((requested.get(resource) ?? 0) <= room);
  });
  return exceeded.some(isGpuResource) ? 'gpu' : 'other';
}

/**
 * Whether a quota or the range of a LimitRange refused the object, where "forbidden" is no permission matter
 * (fallback 2.1 rule 2). A `failed quota` only misses a limit that the manifest must state.
 */
export function isQuotaDenial(text: string): boolean {
  return /forbidden: (?:(?:exceeded|failed) quota: |\[?(?:maximum|minimum) \S{1,80} usage per )/.test(text);
}

/** The text without what follows `preemption:`: how preemption would go, with the same counts again. */
export function withoutPreemption(text: string): string {
  const head = HEAD.exec(text);
  if (head === null) return text;
  const end = text.indexOf('preemption:', head.index);
  return end === -1 ? text : text.slice(0, end).trim();
}

/** The GPU resources of fallback 2.5, with the prefix that a ResourceQuota puts before them. */
const GPU_RESOURCES: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  { pattern: /^nvidia\.com\/(?:v|p)?gpu/, reason: 'NVIDIA, with its shared, memory and product forms.' },
  { pattern: /^nvidia\.com\/mig-/, reason: 'A slice of an NVIDIA GPU.' },
  { pattern: /^amd\.com\/gpu/, reason: 'AMD.' },
  { pattern: /^gpu\.intel\.com\//, reason: 'Intel.' },
  { pattern: /^[a-z0-9.-]+\/v?gpu(?:$|[-.])/, reason: 'GPU sharing plugins of other vendors.' },
  { pattern: /^alpha\.kubernetes\.io\/nvidia-gpu$/, reason: 'The name before device plugins.' },
];

const NODE_AFFINITY = /didn't match (?:pod's )?node (?:affinity|selector)|^matchnodeselector/;
const HEAD =
  /(?:\d{1,7}\/\d{1,7} nodes are (?:un)?available|no nodes are available that match all of the(?: following)? predicates):+ ?/;

function schedulerReasons(text: string): readonly string[] | undefined {
  const head = HEAD.exec(text);
  if (head === null) return undefined;

  return withoutPreemption(text)
    .slice(head.index + head[0].length)
    .split(/, (?=\d{1,7} |insufficient |matchnodeselector|podtoleratesnodetaints)|\. (?!.{0,3}$)/)
    .map((reason) => reason.trim().replace(/^\d{1,7} /, ''))
    .filter((reason) => reason !== '');
}

function shortResource(reason: string, wanted: (resource: string) => boolean): boolean {
  const resource = /^insufficient ([a-z0-9][\w./-]{0,120})/.exec(reason)?.[1];
  return resource !== undefined && wanted(resource.replace(/[.,]+$/, ''));
}

function isGpuResource(resource: string): boolean {
  const name = resource.replace(/^(?:requests|limits)\./, '');
  return GPU_RESOURCES.some(({ pattern }) => pattern.test(name));
}

/** `requested: requests.nvidia.com/gpu=8,pods=1` as numbers; what is not a plain number is not one. */
function amounts(text: string, member: string): ReadonlyMap<string, number> {
  const list =
    new RegExp(`(?<!\\w)${member}: ?((?:[\\w./-]{1,120}=\\w{1,30}(?:, ?)?)*)`).exec(text)?.[1] ?? '';
  const found = new Map<string, number>();
  for (const [, resource, amount] of list.matchAll(/([\w./-]+)=(\w+)/g))
    found.set(resource ?? '', Number(amount));
  return found;
}
