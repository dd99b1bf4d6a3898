import { createHash } from 'node:crypto';
import { mkdir, open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LogHead, LogReader } from '#domain/log';
import type { SealedStore } from '#domain/log-tables';
import { hashOf } from '#event-log/chain';
import type { CheckpointLines } from '#event-log/checkpoint-lines';
import type { SigningKey } from '#event-log/signing-keys';
import { type RecordedEvent, ZERO_HASH } from '#events/envelope';
import type { Progress } from '../progress.ts';
import {
  CHECKPOINTS_FILE,
  type ExportFile,
  MANIFEST_FILE,
  type Manifest,
  type RowFormat,
  STREAM_KEYS_FILE,
  signedManifest,
} from './manifest.ts';
import { rowWriter } from './row-lines.ts';

/** The folder is no place for an export, or the range is none of the log. The message says why. */
export class ExportRefused extends Error {
  override readonly name = 'ExportRefused';
}

export interface ExportCall {
  /** Made when it is missing; must be empty. */
  readonly folder: string;
  readonly rows: RowFormat;
  /** First and last position; the whole log unless given. */
  readonly from?: number;
  readonly to?: number;
  /** Stream of the one allocation; all streams unless given. */
  readonly stream?: string;
  /** Signs the manifest. */
  readonly key: SigningKey | null;
  /** Those of the range go into the export, so that it can be proven without the manifest. */
  readonly checkpoints?: CheckpointLines;
  readonly exportedAt: string;
  readonly onProgress?: Progress;
  readonly rowsPerFile?: number;
}

export interface Exported {
  readonly manifest: Manifest;
  /** First position whose hash does not hold: what was exported is then evidence and not signed; null = none. */
  readonly brokenAt: number | null;
}

export type ExportLog = Pick<LogReader, 'logId' | 'head' | 'at' | 'readAfter' | 'readStream'> & {
  readonly sealed: Pick<SealedStore, 'ringKeys'>;
};

const ROWS_PER_FILE = 100_000;
const PAGE_ROWS = 1_000;

/**
 * Writes rows of the log to files that can be verified without it (design 5), in bounded memory. Names and texts
 * stay behind: a copy of them would outlive their erasure. The manifest is written last: a folder without one is
 * no export. Throws ExportRefused, or RowNotExact where CloudEvents cannot carry a damaged row.
 */
export async function writeExport(log: ExportLog, call: ExportCall): Promise<Exported> {
  const [logId, head] = [await log.logId(), await log.head()];
  const { from, to } = rangeOf(call, head);
  await makeEmpty(call.folder);
  const before = from === 1 ? null : await log.at(from - 1);
  const lineOf = await rowWriter(call.rows, logId);
  const writer = new ExportWriter(call, logId, before?.hash ?? ZERO_HASH, lineOf);
  const { onProgress = () => {} } = call;
  const pages = call.stream === undefined ? pagesOf(log, from, to) : pagesOfStream(log, call.stream, to);
  for await (const rows of pages) {
    await writer.add(rows);
    onProgress((rows.at(-1)?.pos ?? from) - from + 1, to - from + 1);
  }
  return writer.end(log, { from, to, head });
}

/** The range as it can be had. Throws ExportRefused. */
function rangeOf({ from = 1, to, stream }: ExportCall, head: LogHead): { from: number; to: number } {
  const last = to ?? head.pos;
  if (last > head.pos) throw new ExportRefused(`the log ends at ${head.pos}`);
  if (stream === undefined && from > last + 1) throw new ExportRefused(`the range ends before it begins`);
  return { from, to: last };
}

async function makeEmpty(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) throw new ExportRefused('the folder is not empty');
}

async function* pagesOf(log: ExportLog, from: number, to: number): AsyncGenerator<readonly RecordedEvent[]> {
  for (let after = from - 1; after < to; ) {
    const rows = await log.readAfter(after, Math.min(PAGE_ROWS, to - after));
    const last = rows.at(-1);
    if (last === undefined) return;
    // A row that is missing makes a page reach beyond the end.
    yield rows.filter(({ pos }) => pos <= to);
    after = last.pos;
  }
}

async function* pagesOfStream(
  log: ExportLog,
  stream: string,
  to: number,
): AsyncGenerator<readonly RecordedEvent[]> {
  for (let version = 0; ; ) {
    const rows = await log.readStream(stream, version, PAGE_ROWS);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.filter(({ pos }) => pos <= to);
    version = last.streamVersion;
  }
}

/** Writes rows to one file after the other, and learns what the manifest says of them. */
class ExportWriter {
  readonly #call: ExportCall;
  readonly #logId: string;
  readonly #prevHash: string;
  readonly #files: ExportFile[] = [];
  readonly #lineOf: LineOf;
  readonly #streamKeys: SideWriter;
  #rows: RowFile | null = null;
  #count = 0;
  #firstHash: string | null = null;
  #lastHash: string | null = null;
  #brokenAt: number | null = null;

  constructor(call: ExportCall, logId: string, prevHash: string, lineOf: LineOf) {
    this.#call = call;
    this.#logId = logId;
    this.#prevHash = prevHash;
    this.#lineOf = lineOf;
    this.#streamKeys = new SideWriter(call.folder, STREAM_KEYS_FILE);
  }

  async add(rows: readonly RecordedEvent[]): Promise<void> {
    const perFile = this.#call.rowsPerFile ?? ROWS_PER_FILE;
    for (let start = 0; start < rows.length; ) {
      this.#rows ??= await RowFile.create(this.#call.folder, this.#files.length + 1, this.#lineOf);
      const part = rows.slice(start, start + perFile - this.#rows.count);
      await this.#rows.add(part);
      for (const row of part) this.#learn(row);
      start += part.length;
      if (this.#rows.count >= perFile) await this.#endFile();
    }
  }

  #learn(row: RecordedEvent): void {
    const follows = this.#call.stream !== undefined || row.prevHash === (this.#lastHash ?? this.#prevHash);
    if (this.#brokenAt === null && !(follows && hashOf(this.#logId, row) === row.hash))
      this.#brokenAt = row.pos;
    this.#count += 1;
    this.#firstHash ??= row.hash;
    this.#lastHash = row.hash;
  }

  async #endFile(): Promise<void> {
    if (this.#rows !== null) this.#files.push(await this.#rows.end());
    this.#rows = null;
  }

  async end(
    log: ExportLog,
    { from, to, head }: { readonly from: number; readonly to: number; readonly head: LogHead },
  ): Promise<Exported> {
    await this.#endFile();
    const { folder, rows, stream = null, key, checkpoints, exportedAt } = this.#call;
    // Only what can be imported needs them.
    if (from === 1 && stream === null) await this.#addStreamKeys(log);
    const covered = (checkpoints?.genuine ?? []).filter(({ pos }) => pos >= from && pos <= to);
    const proofs = new SideWriter(folder, CHECKPOINTS_FILE);
    for (const checkpoint of covered) await proofs.add(checkpoint);
    const manifest = signedManifest(
      {
        format: 'spillway-export-1',
        log_id: this.#logId,
        rows,
        allocation: stream,
        from,
        to,
        count: this.#count,
        prev_hash: this.#prevHash,
        first_hash: this.#firstHash,
        last_hash: this.#lastHash,
        head,
        exported_at: exportedAt,
        files: this.#files,
        stream_keys: await this.#streamKeys.end(),
        checkpoints: await proofs.end(),
      },
      this.#brokenAt === null ? key : null,
    );
    await writeFile(join(folder, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`);
    return { manifest, brokenAt: this.#brokenAt };
  }

  async #addStreamKeys(log: ExportLog): Promise<void> {
    for (let after = ''; ; ) {
      const rows = await log.sealed.ringKeys(after, PAGE_ROWS);
      for (const { stream, ringKeyId } of rows) {
        await this.#streamKeys.add({ stream, ring_key_id: ringKeyId });
        after = stream;
      }
      if (rows.length < PAGE_ROWS) return;
    }
  }
}

type LineOf = (row: RecordedEvent) => string;
type Handle = Awaited<ReturnType<typeof open>>;

class RowFile {
  readonly #hash = createHash('sha256');
  #bytes = 0;
  #from = 0;
  #to = 0;
  count = 0;

  private constructor(
    private readonly handle: Handle,
    private readonly name: string,
    private readonly lineOf: LineOf,
  ) {}

  static async create(folder: string, number: number, lineOf: LineOf): Promise<RowFile> {
    const name = `events-${String(number).padStart(6, '0')}.jsonl`;
    return new RowFile(await open(join(folder, name), 'wx'), name, lineOf);
  }

  async add(rows: readonly RecordedEvent[]): Promise<void> {
    const text = rows.map((row) => `${this.lineOf(row)}\n`).join('');
    const bytes = Buffer.from(text);
    await this.handle.writeFile(bytes);
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
    this.#from ||= rows[0]?.pos ?? 0;
    this.#to = rows.at(-1)?.pos ?? this.#to;
    this.count += rows.length;
  }

  async end(): Promise<ExportFile> {
    await this.handle.sync();
    await this.handle.close();
    const sha256 = this.#hash.digest('hex');
    return { name: this.name, from: this.#from, to: this.#to, count: this.count, bytes: this.#bytes, sha256 };
  }
}

/** A file beside the rows, made with its first line. */
class SideWriter {
  readonly #hash = createHash('sha256');
  #handle: Handle | null = null;
  #count = 0;

  constructor(
    private readonly folder: string,
    private readonly name: string,
  ) {}

  async add(line: object): Promise<void> {
    this.#handle ??= await open(join(this.folder, this.name), 'wx');
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    await this.#handle.writeFile(bytes);
    this.#hash.update(bytes);
    this.#count += 1;
  }

  async end(): Promise<{ readonly name: string; readonly count: number; readonly sha256: string } | null> {
    if (this.#handle === null) return null;
    await this.#handle.close();
    return { name: this.name, count: this.#count, sha256: this.#hash.digest('hex') };
  }
}
