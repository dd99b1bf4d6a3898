import type { PromptView } from '#domain/audit/views';

/** What the page knows of questions, by their first asking: a renewal is the same question. */
export type PromptBook = ReadonlyMap<string, PromptView>;

export const EMPTY_BOOK: PromptBook = new Map();

/** The book with what was just heard of a question. What is older than what the book has changes nothing. */
export function noted(book: PromptBook, prompt: PromptView): PromptBook {
  const known = book.get(prompt.originId);
  if (known !== undefined && isNewer(known, prompt)) return book;
  return new Map(book).set(prompt.originId, prompt);
}

/** A list that was asked for before an event and arrives after it must not open a closed question again. */
function isNewer(known: PromptView, heard: PromptView): boolean {
  if (known.closed !== null) return heard.closed === null;
  return heard.closed === null && known.expiresAt > heard.expiresAt;
}

/**
 * The book after the lists were read anew: what was open and is in neither list ended while nobody listened.
 * `heardMeanwhile` are the first askings that the stream spoke of while the lists were on their way.
 */
export function reread(
  book: PromptBook,
  lists: readonly PromptView[],
  heardMeanwhile: ReadonlySet<string>,
): PromptBook {
  const listed = new Set(lists.map(({ originId }) => originId));
  const kept = [...book].filter(
    ([originId, prompt]) => prompt.closed !== null || listed.has(originId) || heardMeanwhile.has(originId),
  );
  return lists.reduce(noted, new Map(kept));
}

/** Whether it can be accepted at this moment. */
export function isOpen(prompt: PromptView, nowMs: number): boolean {
  return prompt.state === 'open' && prompt.closed === null && Date.parse(prompt.expiresAt) > nowMs;
}

/** Questions that wait for an answer, newest first. */
export function openIn(book: PromptBook, nowMs: number): readonly PromptView[] {
  return [...book.values()].filter((prompt) => isOpen(prompt, nowMs)).sort(newestFirst);
}

/** Questions whose life time ended without an answer, newest first: reading one again renews it (fallback 6). */
export function expiredIn(book: PromptBook, nowMs: number): readonly PromptView[] {
  return [...book.values()]
    .filter((prompt) => prompt.closed === null && !isOpen(prompt, nowMs))
    .sort(newestFirst);
}

/** Questions that ended, the last to end first. */
export function closedIn(book: PromptBook): readonly PromptView[] {
  return [...book.values()]
    .filter((prompt) => prompt.closed !== null)
    .sort((one, other) => compare(other.closed?.at ?? '', one.closed?.at ?? ''));
}

function newestFirst(one: PromptView, other: PromptView): number {
  return compare(other.askedAt, one.askedAt) || compare(other.id, one.id);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
