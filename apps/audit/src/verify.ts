import type { LogHead } from '#domain/log';
import type { CheckpointLines, Doubt, DoubtReason } from '#event-log/checkpoint-lines';
import { rowsFrom, type TamperedSource, type Tampering, tamperingOf } from '#event-log/tampering';
import { type Broken, type BrokenKind, type VerifySource, verifyLog } from '#event-log/verify';
import type { Progress } from './progress.ts';

/** The first bad position, what is wrong there, and what somebody may have done. */
export interface Damaged {
  readonly ok: false;
  readonly pos: number;
  readonly kind: BrokenKind | 'forged_checkpoint' | 'edited_export' | 'unsigned';
  readonly damage: string;
  readonly tampering: Tampering | null;
}

/** Sound up to `head`, or the first bad position and what is wrong there. */
export type VerifyReport = ({ readonly ok: true; readonly head: LogHead } | Damaged) & {
  /** Positions that were asked for: the head when it began. */
  readonly upTo: number;
  /** Where the log stands at the end: what was appended meanwhile was not verified. */
  readonly grownTo: number;
  /** What was signed; null = no checkpoints were given, so a tail that was cut is not seen. */
  readonly signed: SignedPart | null;
};

/** What the signed checkpoints say. */
export interface SignedPart {
  readonly checkpoints: number;
  /** The newest position that a genuine one proves; 0 = none. */
  readonly upTo: number;
  readonly doubts: readonly Doubt[];
}

export interface VerifyCall {
  readonly onProgress?: Progress;
  /** Read from a file, with the keys that are trusted, for this log. */
  readonly checkpoints?: CheckpointLines;
}

/** A sentence for each kind of damage, for a person. */
export const DAMAGE: Readonly<Record<BrokenKind, string>> = {
  gap: 'there is no row at this position: it was deleted, or its number was changed',
  hash: 'the content of the row is not what was hashed: it was changed after it was recorded',
  prev_hash: 'the row does not follow on the row before: one of the two was replaced',
  stream_version: 'the row is not the next one of its stream',
  decision_version: 'the row does not have the number of decisions that its stream has',
  time: 'the row claims to be recorded before the row before',
  checkpoint: 'the hash of the row is not the one that was signed',
  tail: 'the log ends here, and a later position was signed',
};

const DOUBTS: Readonly<Record<DoubtReason, string>> = {
  malformed: 'is no checkpoint',
  forged: 'was not signed by the key that it names',
  unknown_key: 'names a key that is not trusted',
  other_log: 'is of another log',
  contradiction: 'contradicts an earlier one',
};

/**
 * Verifies the log up to the head that it has when this begins, and says so (pitfall 26). Changes nothing. A
 * tail that was cut off, or a chain that was made anew to its end, is seen by signed checkpoints only.
 */
export async function verify(log: VerifySource, call: VerifyCall = {}): Promise<VerifyReport> {
  const { onProgress = () => {}, checkpoints = null } = call;
  const upTo = (await log.head()).pos;
  const verified = await verifyLog(log, {
    to: upTo,
    onProgress: (pos) => onProgress(pos, upTo),
    checkpoints: signedHashes(checkpoints),
  });
  const signed = checkpoints && signedPart(checkpoints);
  const result = verified.ok
    ? (doubtful(signed?.doubts ?? []) ?? verified)
    : await damaged(
        tamperedLog(log, (pos) => onProgress(pos, upTo)),
        verified,
      );
  return { ...result, upTo, grownTo: (await log.head()).pos, signed };
}

/** What was signed, by position. */
export function signedHashes(lines: CheckpointLines | null): ReadonlyMap<number, string> {
  return new Map((lines?.genuine ?? []).map(({ pos, hash }) => [pos, hash]));
}

export function signedPart({ genuine, doubts }: CheckpointLines): SignedPart {
  return {
    checkpoints: genuine.length,
    upTo: genuine.reduce((most, { pos }) => Math.max(most, pos), 0),
    doubts,
  };
}

/** The damage in words, with what fits it. */
export async function damaged(source: TamperedSource, broken: Broken): Promise<Damaged> {
  const { pos, kind } = broken;
  return { ok: false, pos, kind, damage: DAMAGE[kind], tampering: await tamperingOf(source, broken) };
}

/** A checkpoint that proves nothing is a finding of its own, at the first position that one claims; null = none. */
export function doubtful(doubts: readonly Doubt[]): Damaged | null {
  const [first] = doubts.toSorted((one, other) => (one.pos ?? 0) - (other.pos ?? 0));
  if (first === undefined) return null;
  const pos = first.pos ?? 0;
  const sentence = `line ${first.line} of the checkpoints ${DOUBTS[first.why]}`;
  return {
    ok: false,
    pos,
    kind: 'forged_checkpoint',
    damage: sentence,
    tampering:
      first.why === 'other_log'
        ? { fits: 'rewritten_chain', from: 1, to: pos, sentence: `${sentence}: the whole log was replaced` }
        : {
            fits: 'forged_checkpoint',
            from: pos,
            to: pos,
            sentence: `${sentence}: it was forged or changed`,
          },
  };
}

const PROGRESS_ROWS = 1_000;

/** Where a log is read to say what fits. The reading may go to the end of the log and is told as it goes. */
export function tamperedLog(
  log: Pick<VerifySource, 'logId' | 'readAfter' | 'readStream'>,
  onProgress: (pos: number) => void = () => {},
): TamperedSource {
  return {
    logId: () => log.logId(),
    readStream: (stream, version, limit) => log.readStream(stream, version, limit),
    async *rowsFrom(from) {
      for await (const row of rowsFrom(log, from)) {
        yield row;
        if (row.pos % PROGRESS_ROWS === 0) onProgress(row.pos);
      }
    },
    hasWholeStreams: true,
  };
}
