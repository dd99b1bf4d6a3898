import {
  type StoryLine,
  sealedTextsOf,
  storyLine,
  type UnsealedTexts,
  unreadableLine,
} from '#domain/audit/timeline';
import type { SealedRow } from '#domain/log';
import type { KnownEvent } from '#events/catalogue';
import { UnreadableEvent } from '#events/upcast';
import type { StreamStep } from './stream-states.ts';

/** Opens a sealed text; null = it is gone. Only who holds the wrapping keys has one. */
export interface Unsealer {
  open(stream: string, kind: SealedRow['kind'], digest: string): Promise<string | null>;
}

const NO_TEXTS: UnsealedTexts = new Map();

/** Tells events as lines of one story. With an unsealer also what callers wrote; a repeated text is opened once. */
export class UnsealedLines {
  readonly #unsealer: Unsealer | null;
  readonly #texts = new Map<string, string | null>();

  constructor(unsealer: Unsealer | null) {
    this.#unsealer = unsealer;
  }

  async line({ row, event }: Pick<StreamStep, 'row' | 'event'>): Promise<StoryLine> {
    if (event instanceof UnreadableEvent) return unreadableLine(row, event.why);
    return storyLine(event, await this.#textsOf(event));
  }

  async #textsOf(event: KnownEvent): Promise<UnsealedTexts> {
    if (this.#unsealer === null) return NO_TEXTS;
    for (const { kind, digest } of sealedTextsOf(event)) {
      if (this.#texts.has(digest)) continue;
      this.#texts.set(digest, await this.#unsealer.open(event.row.stream, kind, digest));
    }
    return this.#texts;
  }
}
