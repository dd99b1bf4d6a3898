import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Form, type Pattern, patternsOf } from './secret-forms.ts';

/** Something to search: a file, a dump, captured output. */
export interface Haystack {
  readonly name: string;
  read(): AsyncIterable<Uint8Array | string>;
}

export interface Hit {
  readonly haystack: string;
  readonly secret: string;
  readonly form: Form;
  /** Bytes from the start to the first place. */
  readonly offset: number;
  readonly count: number;
}

const CHUNK_BYTES = 4 * 1024 * 1024;

export function fileHaystack(path: string): Haystack {
  return {
    name: path,
    async *read() {
      try {
        yield* createReadStream(path, { highWaterMark: CHUNK_BYTES });
      } catch (error) {
        // A running server recycles files: what is gone holds nothing any more.
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
      }
    },
  };
}

/** Every file below a folder, binary ones too (a Postgres data directory, JetStream's store, log files). */
export function directoryHaystacks(path: string): readonly Haystack[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map(fileHaystack);
}

/** Texts that come one by one, such as the rows of a database dump. What runs over two of them is found too. */
export function textHaystack(name: string, texts: AsyncIterable<string> | Iterable<string>): Haystack {
  return {
    name,
    async *read() {
      yield* texts;
    },
  };
}

/**
 * Finds secrets in clear, as JSON text, URL-encoded, in base64 or in hex. Of secrets that contain each other
 * the longest is reported. One row for each haystack, secret and form, in the order of the haystacks. Texts
 * that Postgres has compressed are not seen in its files: search a dump as well.
 */
export async function searchForSecrets(
  haystacks: readonly Haystack[],
  secrets: readonly string[],
): Promise<readonly Hit[]> {
  const index = new PatternIndex([...new Set(secrets)].flatMap(patternsOf));
  const hits: Hit[] = [];
  for (const haystack of haystacks) {
    const places: Place[] = [];
    for await (const place of placesIn(haystack, index)) places.push(place);
    hits.push(...summed(haystack.name, longestOnly(places)));
  }
  return hits;
}

interface Place {
  readonly pattern: Pattern;
  readonly start: number;
}

async function* placesIn(haystack: Haystack, index: PatternIndex): AsyncGenerator<Place> {
  let kept: Buffer = Buffer.alloc(0);
  let keptStart = 0;
  for await (const chunk of haystack.read()) {
    const bytes = Buffer.concat([kept, typeof chunk === 'string' ? Buffer.from(chunk) : chunk]);
    // A pattern that begins near the end may go on in the next chunk: leave its beginning for then.
    const searchable = Math.max(0, bytes.length - index.longest + 1);
    for (const place of index.placesIn(bytes, 0, searchable))
      yield { ...place, start: place.start + keptStart };
    kept = bytes.subarray(searchable);
    keptStart += searchable;
  }
  for (const place of index.placesIn(kept, 0, kept.length))
    yield { ...place, start: place.start + keptStart };
}

const PREFIX_BYTES = 4;
const FILTER_BITS = 20;

/**
 * Thousands of patterns, found in one pass: the first four bytes at each place are looked up, and almost no
 * place gets past the filter. (Searching for one pattern after the other takes minutes on a data directory.)
 */
class PatternIndex {
  readonly longest: number;
  readonly #byPrefix = new Map<number, Pattern[]>();
  readonly #filter = new Uint8Array(1 << FILTER_BITS);

  constructor(patterns: readonly Pattern[]) {
    this.longest = Math.max(PREFIX_BYTES, ...patterns.map((pattern) => pattern.bytes.length));
    for (const pattern of patterns) {
      const prefix = pattern.bytes.readUInt32LE(0);
      this.#filter[slotOf(prefix)] = 1;
      const same = this.#byPrefix.get(prefix);
      if (same === undefined) this.#byPrefix.set(prefix, [pattern]);
      else same.push(pattern);
    }
  }

  *placesIn(bytes: Buffer, from: number, to: number): Generator<Place> {
    const end = Math.min(to, bytes.length - PREFIX_BYTES + 1);
    for (let start = from; start < end; start++) {
      const prefix = bytes.readUInt32LE(start);
      if (this.#filter[slotOf(prefix)] === 0) continue;
      for (const pattern of this.#byPrefix.get(prefix) ?? []) {
        const { length } = pattern.bytes;
        if (
          start + length <= bytes.length &&
          bytes.compare(pattern.bytes, 0, length, start, start + length) === 0
        ) {
          yield { pattern, start };
        }
      }
    }
  }
}

function slotOf(prefix: number): number {
  return Math.imul(prefix, 0x9e3779b1) >>> (32 - FILTER_BITS);
}

/** Leaves out a place that lies within the place of a longer secret. */
function longestOnly(places: readonly Place[]): readonly Place[] {
  const ordered = [...places].sort(
    (a, b) => a.start - b.start || b.pattern.bytes.length - a.pattern.bytes.length,
  );
  let coveredTo = 0;
  return ordered.filter(({ start, pattern }) => {
    const end = start + pattern.bytes.length;
    if (end <= coveredTo) return false;
    coveredTo = end;
    return true;
  });
}

function summed(haystack: string, places: readonly Place[]): readonly Hit[] {
  const hits = new Map<string, Hit>();
  for (const { pattern, start } of places) {
    const key = `${pattern.form} ${pattern.secret}`;
    const known = hits.get(key);
    hits.set(
      key,
      known === undefined
        ? { haystack, secret: pattern.secret, form: pattern.form, offset: start, count: 1 }
        : { ...known, count: known.count + 1 },
    );
  }
  return [...hits.values()];
}
