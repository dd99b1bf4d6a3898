import { FAILURE_CATEGORIES } from '#events/scalars';
import { type FailureCategory, QUALIFYING_CATEGORIES, qualifies } from './category.ts';
import type { CodeTable } from './code-table.ts';
import { neverCountCode, neverCountInnerCode } from './never-count-codes.ts';
import { neverCountText } from './never-count-text.ts';
import { judgePlacement } from './placement.ts';
import { PROVIDER_TABLE } from './provider-codes.ts';
import { type FailureReport, type Reading, readFailure } from './reading.ts';

export { FAILURE_CATEGORIES, type FailureCategory, QUALIFYING_CATEGORIES, qualifies };

export interface Classification {
  readonly category: FailureCategory;
  /** Whether the failure counts as a failed GPU placement. */
  readonly qualifying: boolean;
  /** The rule or table row that decided: words of ours only, never of the caller. */
  readonly rule: string;
}

/**
 * Names the category of a failed attempt and whether it counts (fallback 2). The first rule of 2.1 that
 * matches decides. Never throws, whatever the text is, and takes time in proportion to its length.
 * `table` is today's unless an auditor asks what another one says.
 */
export function classify(failure: FailureReport, table: CodeTable = PROVIDER_TABLE): Classification {
  const reading = readFailure(failure);
  return (
    neverCounts(reading) ??
    quotaFailure(reading) ??
    notEnoughResources(reading) ??
    verdict(judgePlacement(reading, table))
  );
}

/**
 * Rules 1 and 2. A code of the caller decides before codes in the text, these before phrases. Two codes tell only
 * the manner of failing, and leave it to the text to name the step: the kubelet's `BackOff`, and a code inside
 * the text (`Failed to pull image ...: code = DeadlineExceeded` is a failed pull).
 */
function neverCounts(reading: Reading): Classification | undefined {
  const byCaller = neverCountCode(reading.codes);
  if (byCaller !== undefined && !reading.codes.includes(BACK_OFF)) return byCode(byCaller);

  const byText = neverCountText(reading);
  const decidedByCode = byCaller ?? neverCountInnerCode(reading.inner);
  if (decidedByCode !== undefined && !STEPS.some((step) => step === byText)) return byCode(decidedByCode);
  return byText && verdict({ category: byText, rule: `never-count-text:${byText}` });
}

const BACK_OFF = 'backoff';
const STEPS: readonly FailureCategory[] = ['image_pull', 'checkpoint'];

function byCode(category: FailureCategory): Classification {
  return verdict({ category, rule: `never-count-code:${category}` });
}

// The whole name of a GPU quota: no letter, dot or hyphen may continue it on either side.
const GPU_QUOTA = /(?<![\w.-])compute\.instance\.gpu\.[a-z0-9]+(?:[_-][a-z0-9]+)*(?![\w-]|\.\w)/;

/** Rule 3: counts if and only if a GPU quota is named; it never falls through to the patterns. */
function quotaFailure(reading: Reading): Classification | undefined {
  if (!reading.has('quotafailure')) return undefined;
  const category = GPU_QUOTA.test(reading.text) ? 'quota_exhausted' : 'other';
  return verdict({ category, rule: 'quota-failure' });
}

/** Rule 4 and the exception of 2.2: what Nebius says when no host is free. */
function notEnoughResources(reading: Reading): Classification | undefined {
  if (reading.has('notenoughresources'))
    return verdict({ category: 'capacity_exhausted', rule: 'not-enough-resources' });
  return reading.scheduleTimeout
    ? verdict({ category: 'capacity_exhausted', rule: 'vm-schedule-timeout' })
    : undefined;
}

function verdict(decided: { readonly category: FailureCategory; readonly rule: string }): Classification {
  return { category: decided.category, qualifying: qualifies(decided.category), rule: decided.rule };
}
