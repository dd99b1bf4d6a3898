import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordedEvent } from '#events/envelope';
import { jsonOrNull } from '#events/json-or-null';
import { MANIFEST_FILE, Manifest } from './manifest.ts';
import { RowUnreadable, rowOfLine } from './row-lines.ts';

/** The folder holds no export: nothing in it can be verified. The message says why. */
export class NoExport extends Error {
  override readonly name = 'NoExport';
}

/** A line is no row; `pos` = the position that should stand there. */
export class LineUnreadable extends Error {
  override readonly name = 'LineUnreadable';

  constructor(readonly pos: number) {
    super(`the line of position ${pos} is no row`);
  }
}

/** A file of the manifest that is not what it says. `pos` = its first position. */
export interface ChangedFile {
  readonly name: string;
  readonly pos: number;
  readonly why: 'missing' | 'changed';
}

const PAGE_ROWS = 1_000;
/** No row of the log is longer: a body has at most 256 KiB, and six bytes escape one. */
const LINE_BYTES_MAX = 8 * 1024 * 1024;

/** An export in a folder. Reads its rows one page at a time. */
export class ExportFolder {
  private constructor(
    readonly folder: string,
    readonly manifest: Manifest,
  ) {}

  /** Throws NoExport. */
  static async open(folder: string): Promise<ExportFolder> {
    let text: string;
    try {
      text = await readFile(join(folder, MANIFEST_FILE), 'utf8');
    } catch {
      throw new NoExport(`the folder has no ${MANIFEST_FILE} that can be read: it holds no finished export`);
    }
    const manifest = Manifest.safeParse(jsonOrNull(text));
    if (!manifest.success) throw new NoExport(`its ${MANIFEST_FILE} is none that this build reads`);
    return new ExportFolder(folder, manifest.data);
  }

  /** What is not as the manifest says, in the order of positions; the side files come first. */
  async changedFiles(onBytes: (done: number) => void = () => {}): Promise<readonly ChangedFile[]> {
    const { files, stream_keys, checkpoints, from } = this.manifest;
    const sides = [stream_keys, checkpoints].filter((side) => side !== null);
    const changed: ChangedFile[] = [];
    let done = 0;
    for (const file of [...sides.map((side) => ({ ...side, from })), ...files]) {
      const sha256 = await this.#digestOf(file.name, (bytes) => {
        done += bytes;
        onBytes(done);
      });
      if (sha256 === file.sha256) continue;
      changed.push({ name: file.name, pos: file.from, why: sha256 === null ? 'missing' : 'changed' });
    }
    return changed;
  }

  /** Bytes of all rows, for progress. */
  get bytes(): number {
    return this.manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** All rows from a position on, in pages. Throws LineUnreadable; a file that is missing ends the rows. */
  async *pages(from = this.manifest.from): AsyncGenerator<readonly RecordedEvent[]> {
    let page: RecordedEvent[] = [];
    let next = from;
    for (const file of this.manifest.files) {
      if (file.to < from) continue;
      if (!(await isFile(join(this.folder, file.name)))) break;
      for await (const line of linesOf(join(this.folder, file.name))) {
        const row = this.#rowOf(line, next);
        next = row.pos + 1;
        if (row.pos < from) continue;
        page.push(row);
        if (page.length < PAGE_ROWS) continue;
        yield page;
        page = [];
      }
    }
    if (page.length > 0) yield page;
  }

  /** A file beside the rows, as text; null = the export has none. */
  async side(name: string): Promise<string | null> {
    const { stream_keys, checkpoints } = this.manifest;
    if (stream_keys?.name !== name && checkpoints?.name !== name) return null;
    return readFile(join(this.folder, name), 'utf8').catch(() => null);
  }

  /** Lines of a file beside the rows. */
  async *sideLines(name: string): AsyncGenerator<string> {
    if (this.manifest.stream_keys?.name !== name) return;
    yield* linesOf(join(this.folder, name));
  }

  #rowOf(line: string, pos: number): RecordedEvent {
    try {
      return rowOfLine(this.manifest.rows, line);
    } catch (error) {
      if (error instanceof RowUnreadable) throw new LineUnreadable(pos);
      throw error;
    }
  }

  async #digestOf(name: string, onBytes: (bytes: number) => void): Promise<string | null> {
    const path = join(this.folder, name);
    if (!(await isFile(path))) return null;
    const hash = createHash('sha256');
    for await (const chunk of bytesOf(path)) {
      hash.update(chunk);
      onBytes(chunk.length);
    }
    return hash.digest('hex');
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function* bytesOf(path: string): AsyncGenerator<Buffer> {
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    if (Buffer.isBuffer(chunk)) yield chunk;
  }
}

/** Lines without their ends, in bounded memory: a line beyond the bound is cut, and so is no row. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of bytesOf(path)) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      yield bytes.toString('utf8', start, end);
      start = end + 1;
    }
    rest = Buffer.from(bytes.subarray(start));
    if (rest.length > LINE_BYTES_MAX) break;
  }
  if (rest.length > 0) yield rest.toString('utf8');
}

const NEWLINE = 0x0a;
