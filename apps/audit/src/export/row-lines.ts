import { z } from 'zod';
import { canonicalJson } from '#events/canonical-json';
import type { RecordedEvent } from '#events/envelope';
import { jsonOrNull } from '#events/json-or-null';
import { type RowFormat, TYPE_PREFIX } from './manifest.ts';

/** A line of an export is no row in the form that the manifest names. */
export class RowUnreadable extends Error {
  override readonly name = 'RowUnreadable';
}

/** Makes a line without its end of a row. It throws RowNotExact for what only a damaged log holds. */
export async function rowWriter(format: RowFormat, logId: string): Promise<(row: RecordedEvent) => string> {
  if (format === 'jsonl') return JSON.stringify;
  // Loaded by who writes this form only: it would cost every command a fifth of a second.
  const { cloudEventOf } = await import('./cloud-event-row.ts');
  return (row) => cloudEventOf(logId, row).toString();
}

/** The row of a line. Throws RowUnreadable. */
export function rowOfLine(format: RowFormat, line: string): RecordedEvent {
  const value = jsonOrNull(line);
  if (format === 'jsonl') {
    const row = Row.safeParse(value);
    if (!row.success) throw new RowUnreadable('no row');
    return row.data;
  }
  const parsed = RowCloudEvent.safeParse(value);
  if (!parsed.success) throw new RowUnreadable('no CloudEvent of a row');
  return rowOfCloudEvent(parsed.data);
}

// Looser than that of the bus: a row that was damaged in the log is evidence, and is told by what is wrong with it.
const Row = z.strictObject({
  pos: z.int().positive(),
  stream: z.string(),
  streamVersion: z.int(),
  decisionVersion: z.int(),
  eventId: z.string(),
  commandId: z.string(),
  commandIndex: z.int(),
  commandDigest: z.string(),
  type: z.string(),
  schemaVersion: z.int(),
  role: z.enum(['input', 'decision']),
  slot: z.int(),
  occurredAt: z.string(),
  recordedAt: z.string(),
  body: z.string(),
  meta: z.string(),
  format: z.int(),
  prevHash: z.string(),
  hash: z.string(),
}) satisfies z.ZodType<RecordedEvent>;

/** Names of attributes have lower-case letters and digits only (CloudEvents 1.0). */
const RowCloudEvent = z.strictObject({
  specversion: z.literal('1.0'),
  id: z.string(),
  source: z.string(),
  type: z.string(),
  subject: z.string(),
  time: z.string(),
  datacontenttype: z.literal('application/json'),
  data: z.unknown(),
  pos: z.int().positive(),
  stream: z.string(),
  streamversion: z.int(),
  decisionversion: z.int(),
  commandid: z.string(),
  commandindex: z.int(),
  commanddigest: z.string(),
  schemaversion: z.int(),
  role: z.enum(['input', 'decision']),
  slot: z.int(),
  recordedat: z.string(),
  meta: z.string(),
  rowformat: z.int(),
  prevhash: z.string(),
  hash: z.string(),
});

function rowOfCloudEvent(event: z.output<typeof RowCloudEvent>): RecordedEvent {
  if (!event.type.startsWith(TYPE_PREFIX)) throw new RowUnreadable('a type that is not ours');
  return {
    pos: event.pos,
    stream: event.stream,
    streamVersion: event.streamversion,
    decisionVersion: event.decisionversion,
    eventId: event.id,
    commandId: event.commandid,
    commandIndex: event.commandindex,
    commandDigest: event.commanddigest,
    type: event.type.slice(TYPE_PREFIX.length),
    schemaVersion: event.schemaversion,
    role: event.role,
    slot: event.slot,
    occurredAt: event.time,
    recordedAt: event.recordedat,
    body: canonicalJson(event.data),
    meta: event.meta,
    format: event.rowformat,
    prevHash: event.prevhash,
    hash: event.hash,
  };
}
