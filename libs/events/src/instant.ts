/** Milliseconds since 1970 of a time in the log's form. Arithmetic only: nothing here reads a clock. */
export function instantMs(instant: string): number {
  return Date.parse(instant);
}

/** The time that many seconds later, in the log's form. */
export function plusSeconds(instant: string, seconds: number): string {
  return new Date(Date.parse(instant) + seconds * 1000).toISOString();
}
