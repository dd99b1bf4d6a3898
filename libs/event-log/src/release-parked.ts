import { commandDigest } from '#domain/command-digest';
import type { AppendPort, Command } from '#domain/log';
import type { ParkedStream, ParkedStreams, ParkState } from '#domain/log-tables';
import { ParkedRequeued, ParkedSkipped } from '#events/audit.events';
import { canonicalJson } from '#events/canonical-json';

/** What an operator lets a consumer do with a parked allocation: try again, or pass over its first event. */
export type Release = Exclude<ParkState, 'parked'>;

export type Released =
  | { readonly outcome: 'released' | 'released_already'; readonly row: ParkedStream }
  /** Nothing of the allocation waits for this consumer: it was worked off, or never parked. */
  | { readonly outcome: 'nothing_parked' }
  /** The consumer has come to another event, perhaps after this was recorded: look again before deciding about that one. */
  | { readonly outcome: 'moved_on'; readonly row: ParkedStream };

export type ReleaseLog = AppendPort & { readonly parked: Pick<ParkedStreams, 'find' | 'mark'> };

export interface ParkedCall {
  readonly consumer: string;
  readonly stream: string;
  readonly as: Release;
  readonly at: string;
  /** The event that the operator saw waiting; absent = whichever waits. */
  readonly firstPos?: number;
}

/**
 * Requeues or skips: records who may go on, then marks the row that the consumer polls. In this order, since a
 * skip that is in no log could not be explained later; whoever dies in between is finished by the same call.
 */
export async function releaseParked(log: ReleaseLog, call: ParkedCall): Promise<Released> {
  const { consumer, stream, as, firstPos } = call;
  const row = await log.parked.find(consumer, stream);
  if (row === null) return { outcome: 'nothing_parked' };
  if (firstPos !== undefined && firstPos !== row.firstPos) return { outcome: 'moved_on', row };
  if (row.state === as) return { outcome: 'released_already', row };

  const [result] = await log.append([commandOf(row, as, call.at)]);
  if (result?.outcome !== 'appended' && result?.outcome !== 'duplicate') {
    throw new Error(`an operator's word that expects nothing was answered ${result?.outcome ?? 'nothing'}`);
  }
  const now = await log.parked.find(consumer, stream);
  if (now === null || episodeOf(now) !== episodeOf(row)) return { outcome: 'moved_on', row };
  const marked = await log.parked.mark(consumer, stream, as);
  return { outcome: marked ? 'released' : 'moved_on', row: { ...row, state: as } };
}

/** One parking: the same stream may park again, at the same event too, and is then released again. */
function episodeOf({ consumer, stream, firstPos, parkedAt }: ParkedStream): string {
  return canonicalJson({ consumer, stream, firstPos, parkedAt });
}

function commandOf(row: ParkedStream, as: Release, at: string): Command {
  const { consumer, stream, firstPos, state } = row;
  const meant = canonicalJson({ episode: episodeOf(row), from: state, as });
  const event =
    as === 'requeued'
      ? ParkedRequeued.create({ consumer, stream, firstPos })
      : ParkedSkipped.create({ consumer, stream, firstPos, skippedPos: firstPos });
  return {
    commandId: `admin-${commandDigest('admin', meant)}`,
    digest: commandDigest('admin', meant),
    stream,
    expected: 'any',
    occurredAt: at,
    events: [{ event, meta: { causedBy: null, saw: null } }],
  };
}
