import type { FailureCategory } from './category.ts';
import type { CodeTable, KnownCode } from './code-table.ts';
import { contradiction, unrelatedFailure } from './contradictions.ts';
import { LAST_PHRASES } from './last-phrases.ts';
import type { Reading } from './reading.ts';
import { type NamedResource, namesGpu, resourcesIn } from './resources.ts';
import { quotaDenial, schedulerVerdict } from './scheduler-message.ts';
import { readShortage, type Shortage } from './shortage.ts';

interface Decided {
  readonly category: FailureCategory;
  readonly rule: string;
}

/** Everything that the text says for and against a failed placement. */
interface Evidence {
  readonly resources: readonly NamedResource[];
  readonly shortage: Shortage;
  readonly scheduler: ReturnType<typeof schedulerVerdict>;
  readonly denial: ReturnType<typeof quotaDenial>;
  readonly cause: ReturnType<typeof contradiction>;
  /** A GPU is named as what is short. It counts beside any other reason (fallback 2.3). */
  readonly gpuShort: boolean;
  /** Something else is named as what is short. */
  readonly otherShort: boolean;
}

/** Rules 5 to 8: placement codes as far as the text does not contradict them, then the text alone. */
export function judgePlacement(reading: Reading, table: CodeTable): Decided {
  const evidence = weigh(reading);
  const inner = innerKnown(reading, table);
  return (
    byCallersCode(reading, evidence, table) ??
    byInnerCode(inner, evidence) ??
    byText(reading, evidence, inner)
  );
}

function weigh({ text, words }: Reading): Evidence {
  const resources = resourcesIn(text);
  const shortage = readShortage(text, words, resources);
  const scheduler = schedulerVerdict(text);
  const denial = quotaDenial(text);
  return {
    resources,
    shortage,
    scheduler,
    denial,
    cause: contradiction(words),
    gpuShort: shortage.named !== undefined || scheduler === 'gpu' || denial === 'gpu',
    otherShort: shortage.negative || scheduler === 'other' || denial === 'other',
  };
}

function byCallersCode(reading: Reading, evidence: Evidence, table: CodeTable): Decided | undefined {
  for (const form of reading.codes) {
    const found = table.find(form);
    if (found === undefined || found.known.condition === 'inner') continue;
    if (found.known.category === 'other') return { category: 'other', rule: ruleOf(found) };

    const against = objection(evidence);
    if (against !== undefined) return { category: 'other', rule: against };
    if (!evidence.gpuShort && !namesGpu(evidence.resources) && unrelatedFailure(reading.words))
      return { category: 'other', rule: 'contradiction:unrelated-failure' };
    if (holds(found, evidence)) return { category: found.known.category, rule: ruleOf(found) };
  }
  return undefined;
}

function byInnerCode(inner: readonly KnownCode[], evidence: Evidence): Decided | undefined {
  if (objection(evidence) !== undefined) return undefined;
  const placing = inner.find(
    (found) =>
      found.known.category !== 'other' && found.known.condition !== 'inner' && holds(found, evidence),
  );
  return placing && { category: placing.known.category, rule: ruleOf(placing) };
}

function byText(reading: Reading, evidence: Evidence, inner: readonly KnownCode[]): Decided {
  const { shortage, scheduler, denial, cause } = evidence;
  if (cause?.ended) return { category: 'other', rule: `contradiction:${cause.id}` };
  if (denial === 'gpu') return { category: 'quota_exhausted', rule: 'kubernetes-quota' };
  if (scheduler === 'gpu') return { category: 'unschedulable_gpu', rule: 'kubernetes-scheduler' };
  if (shortage.named !== undefined)
    return { category: shortage.named.category, rule: `text:${shortage.named.id}` };

  const against = objection(evidence) ?? innerObjection(inner);
  if (against !== undefined) return { category: 'other', rule: against };
  if (scheduler === 'product') return { category: 'no_compatible_product', rule: 'kubernetes-scheduler' };
  if (shortage.unnamed !== undefined) {
    return { category: shortage.unnamed.category, rule: `text:${shortage.unnamed.id}` };
  }
  const last = LAST_PHRASES.find(
    ({ pattern, unnamed }) =>
      reading.words.search(pattern) !== -1 && (unnamed === 'counts' || namesGpu(evidence.resources)),
  );
  if (last !== undefined) return { category: last.category, rule: `text:${last.id}` };
  return withoutText(reading) ?? { category: 'other', rule: 'none' };
}

/** What speaks against counting when no GPU is named as short; an ended run speaks against it always. */
function objection({ cause, gpuShort, otherShort, denial, scheduler }: Evidence): string | undefined {
  if (cause?.ended) return `contradiction:${cause.id}`;
  if (gpuShort) return undefined;
  if (cause !== undefined) return `contradiction:${cause.id}`;
  if (denial === 'other') return 'kubernetes-quota';
  if (scheduler === 'other') return 'kubernetes-scheduler';
  return otherShort ? 'contradiction:other-resource' : undefined;
}

/** A code in the text for something else explains a phrase that names no resource. */
function innerObjection(inner: readonly KnownCode[]): string | undefined {
  const other = inner.find(({ known }) => known.category === 'other' && known.condition !== 'inner');
  return other && ruleOf(other);
}

/** What a bare code says when there is no text to read. */
function withoutText({ codes, text }: Reading): Decided | undefined {
  if (text !== '') return undefined;
  if (codes.includes('unschedulable'))
    return { category: 'unschedulable_gpu', rule: 'kubernetes:Unschedulable' };
  return codes.includes('403') ? { category: 'rbac', rule: 'http:403' } : undefined;
}

function innerKnown({ inner }: Reading, table: CodeTable): readonly KnownCode[] {
  return [...inner.positioned, ...inner.mentioned.filter(table.isCompound)]
    .map(table.find)
    .filter((found) => found !== undefined);
}

/** The condition of a code (fallback 2.4); what contradicts it was asked before. */
function holds({ known }: KnownCode, evidence: Evidence): boolean {
  if (evidence.gpuShort || known.condition === 'not_negative') return true;
  return namesGpu(evidence.resources) || (known.condition === 'no_other' && evidence.resources.length === 0);
}

function ruleOf({ known, code }: KnownCode): string {
  return `${known.provider}:${code}`;
}
