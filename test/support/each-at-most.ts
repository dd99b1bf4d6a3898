/** Does the work for every item, at most `limit` at a time. Rejects with the first failure. */
export async function eachAtMost<Item>(
  limit: number,
  items: readonly Item[],
  work: (item: Item, place: number) => Promise<void>,
): Promise<void> {
  const waiting = items.entries();
  const worker = async () => {
    for (const [place, item] of waiting) await work(item, place);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}
