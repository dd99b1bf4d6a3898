import {
  type StoryLine,
  sealedTextsOf,
  storyLine,
  type UnsealedTexts,
  unreadableLine,
} from '#domain/audit/timeline';
import type { LogReader, SealedRow } from '#domain/log';
import type { KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import { refOfStream } from '#events/streams';
import { readEvent, UnreadableEvent } from '#events/upcast';

/** Opens a sealed text; null = it is gone. Only who holds the wrapping keys has one. */
export interface Unsealer {
  open(stream: string, kind: SealedRow['kind'], digest: string): Promise<string | null>;
}

export interface Story {
  readonly ref: string;
  /** The logical name, only if it was unsealed; null = it is gone. */
  readonly name?: string | null;
  /** Position of the last event that is told: the story is complete up to it. */
  readonly upTo: number;
  readonly lines: readonly StoryLine[];
}

const PAGE_SIZE = 500;

/**
 * The whole story of one allocation in the order of the log; null when the log has nothing of it. With an
 * unsealer also what callers wrote (fallback 7).
 */
export async function timeline(
  log: Pick<LogReader, 'readStream'>,
  stream: string,
  unsealer: Unsealer | null = null,
): Promise<Story | null> {
  const ref = refOfStream(stream);
  if (ref === null) return null;
  const texts = new Map<string, string | null>();
  const lines: StoryLine[] = [];
  for (let version = 0; ; ) {
    const rows = await log.readStream(stream, version, PAGE_SIZE);
    for (const row of rows) {
      lines.push(await lineOf(row, texts, unsealer));
      version = row.streamVersion;
    }
    if (rows.length < PAGE_SIZE) break;
  }
  const last = lines.at(-1);
  if (last === undefined) return null;
  const story = { ref, upTo: last.pos, lines };
  return unsealer === null ? story : { ...story, name: await unsealer.open(stream, 'name', ref) };
}

async function lineOf(
  row: RecordedEvent,
  texts: Map<string, string | null>,
  unsealer: Unsealer | null,
): Promise<StoryLine> {
  const event = readOrWhyNot(row);
  if (event instanceof UnreadableEvent) return unreadableLine(row, event.why);
  return storyLine(event, unsealer === null ? NO_TEXTS : await unsealed(event, texts, unsealer));
}

const NO_TEXTS: UnsealedTexts = new Map();

/** A repeated failure is opened once. */
async function unsealed(
  event: KnownEvent,
  texts: Map<string, string | null>,
  unsealer: Unsealer,
): Promise<UnsealedTexts> {
  for (const { kind, digest } of sealedTextsOf(event)) {
    if (!texts.has(digest)) texts.set(digest, await unsealer.open(event.row.stream, kind, digest));
  }
  return texts;
}

function readOrWhyNot(row: RecordedEvent): KnownEvent | UnreadableEvent {
  try {
    return readEvent(row);
  } catch (error) {
    if (error instanceof UnreadableEvent) return error;
    throw error;
  }
}
