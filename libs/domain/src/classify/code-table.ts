import type { QualifyingCategory } from './category.ts';
import { compactCode } from './normalise.ts';

/**
 * What must hold beside the code (fallback 2.4). `gpu`: text or code must name a GPU thing. `not_negative`:
 * the text must not say that something else is short. `no_other`: nothing but GPUs may be
 * named at all. `inner`: a wrapper, decided by the cause inside it.
 */
export type Condition = 'gpu' | 'no_other' | 'not_negative' | 'inner';

export interface ProviderCode {
  readonly provider: string;
  /** A star stands for any beginning or end. */
  readonly codes: readonly string[];
  readonly category: QualifyingCategory | 'other';
  readonly condition: Condition | undefined;
  readonly reason: string;
}

export interface KnownCode {
  readonly known: ProviderCode;
  /** The spelling of the table, never that of the caller. */
  readonly code: string;
}

/** Provider codes as they are looked up: an auditor may ask what other rows would have said (fallback 2.4). */
export interface CodeTable {
  /** The row of a code, by its compact form. */
  find(form: string): KnownCode | undefined;
  /** Whether the code may be read from the middle of a sentence. */
  isCompound(form: string): boolean;
}

/** Of rows with the same code the last one counts. */
export function codeTable(rows: readonly ProviderCode[]): CodeTable {
  const byCode = new Map(
    rows.flatMap((known) => known.codes.map((code) => [compactCode(code), { known, code }] as const)),
  );
  const families = [...byCode.values()]
    .filter(({ code }) => code.includes('*'))
    .map((known) => {
      const stem = compactCode(known.code.replace('*', ''));
      const atEnd = known.code.startsWith('*');
      return { ...known, matches: (form: string) => (atEnd ? form.endsWith(stem) : form.startsWith(stem)) };
    });
  // Spellings that no sentence contains as an ordinary word, so that they are codes wherever they stand.
  const compound: ReadonlySet<string> = new Set(
    rows
      .flatMap(({ codes }) => codes)
      .filter((code) => /_|[a-z][A-Z]|[A-Z]{2}[a-z]/.test(code))
      .map(compactCode),
  );
  return {
    find: (form) => byCode.get(form) ?? families.find(({ matches }) => matches(form)),
    isCompound: (form) => compound.has(form) || families.some(({ matches }) => matches(form)),
  };
}
