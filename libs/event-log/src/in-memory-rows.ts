/** Epoch milliseconds of the store's clock. */
export type StoreClock = () => number;

export function isoOf(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

export function keyOf(...parts: readonly (string | number)[]): string {
  return JSON.stringify(parts);
}

/** Code point order, which is the order of the database's "C" collation. */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
