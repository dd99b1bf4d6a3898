import { Instant } from '#events/define-event';

/**
 * A provider's time in the log's form; null when it cannot be read. Providers write seconds without a fraction, with
 * nine digits of one or with another zone: what is not in the log's form cannot be recorded, and an instance whose
 * creation cannot be recorded would bill unseen.
 */
export function createdAtOf(text: string | null): string | null {
  const ms = text === null ? Number.NaN : Date.parse(text);
  if (Number.isNaN(ms)) return null;
  return Instant.safeParse(new Date(ms).toISOString()).data ?? null;
}
