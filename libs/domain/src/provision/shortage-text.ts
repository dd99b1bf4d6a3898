import { classify } from '../classify/classify.ts';

/** So many texts of one answer are read; more of them is no error message. */
const TEXTS_MAX = 50;

/**
 * Whether the text of a lost answer speaks of missing capacity (failover 9.2). Of a JSON answer each text counts
 * on its own: its frame is not what the provider says. A gateway's page is never the provider's word (providers 1.5).
 */
export function speaksOfShortage({
  code,
  text,
}: {
  readonly code: string | null;
  readonly text: string;
}): boolean {
  if (/^\s*</.test(text)) return false;
  return textsIn(text).some((message) => {
    const { category } = classify({ code: code ?? undefined, message });
    return category === 'capacity_exhausted' || category === 'quota_exhausted';
  });
}

function textsIn(text: string): readonly string[] {
  try {
    return leaves(JSON.parse(text)).slice(0, TEXTS_MAX);
  } catch {
    return [text];
  }
}

function leaves(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(leaves);
}
