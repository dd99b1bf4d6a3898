import { definitionOf, type KnownEvent } from './catalogue.ts';
import type { EventMeta, RecordedEvent } from './envelope.ts';

/** A row that this version cannot read: made by a newer one, or damaged. Nothing may be decided on it. */
export class UnreadableEvent extends Error {
  override readonly name = 'UnreadableEvent';

  constructor(
    readonly why: 'unknown_type' | 'newer_version' | 'body',
    readonly row: RecordedEvent,
  ) {
    super(`${why}: ${row.type} v${row.schemaVersion} at position ${row.pos}`);
  }
}

type Upcast = (body: unknown) => unknown;

/** From an older version's data to the next one's, by type and the version it starts from. */
const UPCASTS: Readonly<Record<string, Readonly<Record<number, Upcast>>>> = {};

/**
 * Reads a stored row with today's definition: older versions are lifted step by step, the stored bytes stay.
 *
 * @throws UnreadableEvent for an unknown type, a newer version, or a body that is not what its version says.
 */
export function readEvent(row: RecordedEvent): KnownEvent {
  const definition = definitionOf(row.type);
  if (definition === null) throw new UnreadableEvent('unknown_type', row);
  if (row.schemaVersion > definition.version) throw new UnreadableEvent('newer_version', row);

  let data = parsedText(row.body, row);
  for (let version = row.schemaVersion; version < definition.version; version += 1) {
    const upcast = UPCASTS[row.type]?.[version];
    if (upcast === undefined) throw new UnreadableEvent('body', row);
    data = upcast(data);
  }
  const parsed = definition.data.safeParse(data);
  if (!parsed.success) throw new UnreadableEvent('body', row);
  const { type, eventId, occurredAt: at } = row;
  return { type, data: parsed.data, row, eventId, at } as KnownEvent;
}

/** Whether a newer version of Spillway wrote the row: it must not be passed over (pitfall 27). */
export function isFromNewerVersion(row: RecordedEvent): boolean {
  const definition = definitionOf(row.type);
  return definition === null || row.schemaVersion > definition.version;
}

/** What the row says of its cause and of the state it saw. */
export function readMeta(row: RecordedEvent): EventMeta {
  const meta = parsedText(row.meta, row);
  if (typeof meta !== 'object' || meta === null) throw new UnreadableEvent('body', row);
  const causedBy = 'causedBy' in meta && typeof meta.causedBy === 'string' ? meta.causedBy : null;
  const saw = 'saw' in meta && typeof meta.saw === 'number' ? meta.saw : null;
  return { causedBy, saw };
}

function parsedText(text: string, row: RecordedEvent): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableEvent('body', row);
  }
}
