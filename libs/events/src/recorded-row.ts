import { z } from 'zod';

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
/** A row of the log as it travels: `RecordedEvent`, read and described by one schema. */
export const RecordedRow = z.strictObject({
  pos: z.int().positive(),
  stream: z.string(),
  streamVersion: z.int().positive(),
  decisionVersion: z.int().nonnegative(),
  eventId: z.string(),
  commandId: z.string(),
  commandIndex: z.int().nonnegative(),
  commandDigest: z.string(),
  type: z.string(),
  schemaVersion: z.int().positive(),
  role: z.enum(['input', 'decision']),
  slot: z.int().min(0).max(65_535),
  occurredAt: z.string(),
  recordedAt: z.string(),
  body: z.string(),
  meta: z.string(),
  format: z.int(),
  prevHash: Hash,
  hash: Hash,
});
