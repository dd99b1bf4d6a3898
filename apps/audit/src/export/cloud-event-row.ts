import { CloudEvent } from 'cloudevents';
import { canonicalJson } from '#events/canonical-json';
import type { RecordedEvent } from '#events/envelope';
import { jsonOrNull } from '#events/json-or-null';
import { refOfStream } from '#events/streams';
import { TYPE_PREFIX } from './manifest.ts';
import { RowNotExact } from './row-not-exact.ts';

/** A row as a CloudEvent, without loss. Throws RowNotExact for a body that is no canonical JSON. */
export function cloudEventOf(logId: string, row: RecordedEvent): CloudEvent<unknown> {
  const data = jsonOrNull(row.body);
  if (!isExact(data, row.body)) throw new RowNotExact(row.pos);
  return new CloudEvent<unknown>({
    specversion: '1.0',
    id: row.eventId,
    source: `urn:spillway:log:${logId}`,
    type: `${TYPE_PREFIX}${row.type}`,
    subject: refOfStream(row.stream) ?? row.stream,
    time: row.occurredAt,
    datacontenttype: 'application/json',
    data,
    pos: row.pos,
    stream: row.stream,
    streamversion: row.streamVersion,
    decisionversion: row.decisionVersion,
    commandid: row.commandId,
    commandindex: row.commandIndex,
    commanddigest: row.commandDigest,
    schemaversion: row.schemaVersion,
    role: row.role,
    slot: row.slot,
    recordedat: row.recordedAt,
    meta: row.meta,
    rowformat: row.format,
    prevhash: row.prevHash,
    hash: row.hash,
  });
}

function isExact(data: unknown, body: string): boolean {
  try {
    return canonicalJson(data) === body;
  } catch {
    return false;
  }
}
