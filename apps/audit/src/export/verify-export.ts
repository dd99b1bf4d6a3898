import type { LogHead } from '#domain/log';
import { hashOf } from '#event-log/chain';
import { type CheckpointLines, readCheckpointLines } from '#event-log/checkpoint-lines';
import type { PublicKeys } from '#event-log/signing-keys';
import type { TamperedSource } from '#event-log/tampering';
import {
  type Broken,
  brokenStream,
  RecentTails,
  type Verified,
  type VerifiedRow,
  verifiedRowOf,
  verifyLog,
} from '#event-log/verify';
import { ZERO_HASH } from '#events/envelope';
import type { Progress } from '../progress.ts';
import { type Damaged, damaged, doubtful, type SignedPart, signedHashes, signedPart } from '../verify.ts';
import { CHECKPOINTS_FILE, type Manifest, type ManifestProof, manifestProof } from './manifest.ts';
import { type ChangedFile, type ExportFolder, LineUnreadable } from './read-export.ts';

/** Sound, or the first bad position; and what follows from it, in sentences. */
export type ExportReport = ({ readonly ok: true; readonly head: LogHead } | Damaged) & {
  readonly manifest: ManifestProof;
  readonly allocation: string | null;
  readonly from: number;
  readonly upTo: number;
  readonly count: number;
  readonly signed: SignedPart | null;
  /** What is proven, and what is not. */
  readonly proves: readonly string[];
};

export interface VerifyExportCall {
  /** Who is trusted; null = nobody, so that only the export's own consistency is verified. */
  readonly keys: PublicKeys | null;
  /** Text of a file of checkpoints that was kept elsewhere. */
  readonly checkpoints?: string;
  readonly onProgress?: Progress;
}

/** About 130 MB of names; of a stream that is forgotten beyond it the next versions are taken on trust. */
const STREAMS_IN_MEMORY = 1_000_000;

/**
 * Verifies an export by itself, in bounded memory and without the log (design 5): its files against the manifest,
 * its rows against each other, and both against signatures of trusted keys.
 */
export async function verifyExport(source: ExportFolder, call: VerifyExportCall): Promise<ExportReport> {
  const { manifest } = source;
  const checkpoints = await checkpointsOf(source, call);
  const proof = manifestProof(manifest, call.keys);
  const changed = await source.changedFiles();
  const verified = await verifyRows(source, checkpoints, call.onProgress ?? (() => {}));
  const damage = await damageOf({ source, checkpoints, proof, changed, verified, keys: call.keys });
  const { from, to, count, allocation, last_hash, prev_hash } = manifest;
  const result = damage ?? { ok: true as const, head: { pos: to, hash: last_hash ?? prev_hash } };
  const signed = checkpoints && signedPart(checkpoints);
  const proves = damage === null ? provenBy(manifest, proof, signed) : [];
  return { ...result, manifest: proof, allocation, from, upTo: to, count, signed, proves };
}

/** Those of the export and those kept elsewhere, as far as they speak of what was exported. */
async function checkpointsOf(source: ExportFolder, call: VerifyExportCall): Promise<CheckpointLines | null> {
  const { manifest } = source;
  const texts = [call.checkpoints, await source.side(CHECKPOINTS_FILE)].filter((text) => text != null);
  if (call.keys === null || texts.length === 0) return null;
  const lines = readCheckpointLines(texts.join('\n'), call.keys, manifest.log_id);
  const covers = (pos: number) => pos >= manifest.from && pos <= manifest.to;
  // What was signed before the export, beyond the end that the log had then, proves that its tail was cut.
  const wasCut = (pos: number, at: string) =>
    manifest.to === manifest.head.pos && pos > manifest.to && at <= manifest.exported_at;
  const genuine = lines.genuine.filter(({ pos, signed_at }) => covers(pos) || wasCut(pos, signed_at));
  return { ...lines, genuine };
}

interface Findings {
  readonly source: ExportFolder;
  readonly checkpoints: CheckpointLines | null;
  readonly proof: ManifestProof;
  readonly changed: readonly ChangedFile[];
  readonly verified: Verified | LineUnreadable;
  readonly keys: PublicKeys | null;
}

/** The first finding, by what it means: an export that was changed proves nothing about the log. */
async function damageOf(findings: Findings): Promise<Damaged | null> {
  const { source, checkpoints, proof, changed, verified, keys } = findings;
  const { manifest } = source;
  const [file] = changed;
  const isForged = proof === 'forged' || proof === 'unknown_key';
  if (file !== undefined || isForged || verified instanceof LineUnreadable) {
    const broken = 'pos' in verified ? verified.pos : null;
    const pos = broken ?? file?.pos ?? manifest.from;
    return editedExport(pos, file === undefined ? (FORGED[proof] ?? 'a line is no row') : sentenceOf(file));
  }
  if (!verified.ok) return damaged(tampered(source), verified);
  const contradiction = contradictionIn(manifest, verified.head);
  if (contradiction !== null) return editedExport(manifest.from, contradiction);
  const doubt = doubtful(checkpoints?.doubts ?? []);
  if (doubt !== null) return doubt;
  const isProven = proof === 'genuine' || (checkpoints?.genuine.length ?? 0) > 0;
  return keys === null || isProven ? null : unsigned(manifest.from);
}

const FORGED: Partial<Record<ManifestProof, string>> = {
  forged: 'the manifest was not signed by the key that it names',
  unknown_key: 'the manifest names a key that is not trusted',
};

function sentenceOf({ name, why }: ChangedFile): string {
  return `the file ${name} ${why === 'missing' ? 'is missing' : 'is not the one that was exported'}`;
}

function editedExport(pos: number, sentence: string): Damaged {
  return {
    ok: false,
    pos,
    kind: 'edited_export',
    damage: sentence,
    tampering: {
      fits: 'edited_export',
      from: pos,
      to: pos,
      sentence: `${sentence}: the export was changed after it was made`,
    },
  };
}

function unsigned(pos: number): Damaged {
  return {
    ok: false,
    pos,
    kind: 'unsigned',
    damage: 'nothing of this export was signed: anybody may have made it',
    tampering: null,
  };
}

/** What the manifest says of its rows against what its files say and the rows are. */
function contradictionIn(manifest: Manifest, verified: LogHead): string | null {
  const { files, count, from, to, allocation, prev_hash, last_hash } = manifest;
  const sum = files.reduce((total, file) => total + file.count, 0);
  if (sum !== count) return 'the manifest counts other rows than its files';
  if (allocation !== null) return null;
  if (count !== to - from + 1) return 'the manifest counts other rows than its range';
  if (verified.hash !== (last_hash ?? prev_hash))
    return 'the manifest names another last hash than the rows have';
  return from === 1 && prev_hash !== ZERO_HASH
    ? 'the manifest has something before the first position'
    : null;
}

async function verifyRows(
  source: ExportFolder,
  checkpoints: CheckpointLines | null,
  onProgress: Progress,
): Promise<Verified | LineUnreadable> {
  try {
    const { allocation } = source.manifest;
    if (allocation === null) return await verifyRange(source, checkpoints, onProgress);
    return await verifyAllocation(source, allocation, onProgress);
  } catch (error) {
    if (error instanceof LineUnreadable) return error;
    throw error;
  }
}

function verifyRange(
  source: ExportFolder,
  checkpoints: CheckpointLines | null,
  onProgress: Progress,
): Promise<Verified> {
  const { from, to, prev_hash, log_id } = source.manifest;
  const readable = {
    logId: async () => log_id,
    head: async () => ({ pos: to, hash: source.manifest.last_hash ?? prev_hash }),
    at: async () => null,
    readAfter: async () => [],
    readStream: async () => [],
    verifiedPages: () => verifiedPages(source, log_id),
  };
  return verifyLog(readable, {
    from,
    to,
    prevHash: prev_hash,
    withoutLookUp: true,
    streamsInMemory: STREAMS_IN_MEMORY,
    checkpoints: signedHashes(checkpoints),
    onProgress: (pos) => onProgress(pos - from + 1, to - from + 1),
  });
}

async function* verifiedPages(source: ExportFolder, logId: string): AsyncGenerator<readonly VerifiedRow[]> {
  for await (const rows of source.pages()) yield rows.map((row) => verifiedRowOf(logId, row));
}

/** The rows of one allocation: each against its own hash, and their versions against each other. */
async function verifyAllocation(
  source: ExportFolder,
  stream: string,
  onProgress: Progress,
): Promise<Verified> {
  const { log_id, to, last_hash, prev_hash, count } = source.manifest;
  const tails = new RecentTails({ readStream: async () => [] }, 2, false);
  let last = { pos: 0, recordedMs: Number.NEGATIVE_INFINITY };
  let done = 0;
  for await (const rows of source.pages()) {
    for (const event of rows) {
      const row = verifiedRowOf(log_id, event);
      const broken = (kind: Broken['kind']): Broken => ({ ok: false, pos: row.pos, kind });
      if (row.hash !== hashOf(log_id, event)) return broken('hash');
      if (row.stream !== stream || row.pos <= last.pos) return broken('stream_version');
      const tail = tails.known(row) ?? (await tails.stored(row));
      const kind = brokenStream(row, tail);
      if (kind !== null) return broken(kind);
      if (row.recordedMs < last.recordedMs) return broken('time');
      tail.streamVersion = row.streamVersion;
      tail.decisionVersion = row.decisionVersion;
      last = row;
    }
    done += rows.length;
    onProgress(done, count);
  }
  if (done < count) return { ok: false, pos: last.pos + 1, kind: 'gap' };
  return { ok: true, head: { pos: to, hash: last_hash ?? prev_hash } };
}

function tampered(source: ExportFolder): TamperedSource {
  return {
    logId: async () => source.manifest.log_id,
    readStream: async () => [],
    hasWholeStreams: false,
    async *rowsFrom(pos: number) {
      if (pos < source.manifest.from) return;
      for await (const rows of source.pages(pos)) yield* rows;
    },
  };
}

/** Honest sentences: what an auditor may say after this, and what not. */
function provenBy(manifest: Manifest, proof: ManifestProof, signed: SignedPart | null): readonly string[] {
  const { allocation, from, to, head, key_id } = manifest;
  const whole = allocation === null;
  const upTo = Math.min(signed?.upTo ?? 0, to);
  const more = whole
    ? []
    : [
        'The rows between these are not in the export, so it does not prove by itself that they stand in one chain: ' +
          'that takes the log or an export of the whole range.',
      ];
  return [
    whole
      ? `The rows ${from} to ${to} follow on each other without a gap, and each is what was hashed.`
      : 'Each row is what was hashed, and none between the first and the last one of the allocation is missing.',
    ...(proof === 'genuine'
      ? [
          `Who holds the key ${key_id} read exactly these rows out of the log, which ended at ${head.pos} then.`,
        ]
      : []),
    ...(upTo >= from ? [`Nothing up to ${upTo} was changed since it was signed as a checkpoint.`] : []),
    ...(proof !== 'genuine' && upTo < to
      ? [
          `Nobody vouches for ${upTo >= from ? `what stands behind ${upTo}` : 'them'}: whoever can hash could have made ${upTo >= from ? 'it' : 'all of it'} up.`,
        ]
      : []),
    ...more,
  ];
}
