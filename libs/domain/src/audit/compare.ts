import type { KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import type { Scalars } from '#events/scalars';
import { readEvent, readMeta, UnreadableEvent } from '#events/upcast';
import { allocationRowOf, evolveRecorded, isAllocationDecision, NO_RECORD } from '../allocation.ts';
import type { AllocationRow } from '../log.ts';
import type { StoredAllocation } from '../log-tables.ts';

export type Compared = string | number | boolean | null;

/** What is recorded is not what today's fold gives. `pos` is the decision's, or the one that the table names. */
export interface Difference {
  readonly stream: string;
  readonly pos: number;
  /** `after.<scalar>`, `decisionVersion`, `saw`, `streamVersion`, `event`, or `table.<column>`. */
  readonly member: string;
  readonly recorded: Compared;
  readonly folded: Compared;
}

/**
 * How far a stream has been folded. Compact, since one is kept for every allocation of a pass: the provenance
 * and the declined evidence stand in no scalar.
 */
export interface StreamFold {
  readonly streamVersion: number;
  readonly decisionVersion: number;
  readonly scalars: Scalars;
  /** Version and position of the record's last decision; 0 before the first. */
  readonly decidedVersion: number;
  readonly decidedPos: number;
  /** The stream cannot be folded on: a row is missing or unreadable. */
  readonly stopped: boolean;
}

export const NOT_FOLDED: StreamFold = {
  streamVersion: 0,
  decisionVersion: 0,
  scalars: NO_RECORD,
  decidedVersion: 0,
  decidedPos: 0,
  stopped: false,
};

export interface Step {
  readonly fold: StreamFold;
  readonly differences: readonly Difference[];
}

/**
 * Folds the next row of a stream with today's rules and compares what the row says with the fold (design 4,
 * pitfall 28). The fold never takes over what is recorded, so that one changed row is one difference.
 */
export function foldRow(before: StreamFold, row: RecordedEvent): Step {
  if (before.stopped) return { fold: before, differences: [] };
  const { streamVersion } = row;
  if (streamVersion !== before.streamVersion + 1) {
    return stop(before, difference(row, 'streamVersion', streamVersion, before.streamVersion + 1));
  }
  try {
    return foldEvent(before, readEvent(row));
  } catch (error) {
    if (!(error instanceof UnreadableEvent)) throw error;
    return stop(
      before,
      difference(row, 'event', `${row.type} v${row.schemaVersion}`, `unreadable: ${error.why}`),
    );
  }
}

/**
 * What the table says of a stream's record against the fold of the stream; null = the table has no row. Once a
 * placement has been written beside it, the row may have moved on without the record: its version and position
 * are then only bounded by the record's last decision and by the end of the fold.
 */
export function compareRow(
  stream: string,
  fold: StreamFold,
  stored: StoredAllocation | null,
): readonly Difference[] {
  if (fold.stopped) return [];
  const isDecided = fold.decidedPos > 0;
  const pos = stored?.pos ?? fold.decidedPos;
  const record = stored?.record ?? null;
  if (stored === null || record === null || !isDecided) {
    if (record === null && !isDecided) return [];
    const [recorded, folded] = isDecided ? ['no row', 'a row'] : ['a row', 'no row'];
    return [{ stream, pos, member: 'table', recorded, folded }];
  }
  const isPlaced = stored.placement !== null;
  const decisionVersion = within(
    stored.decisionVersion,
    fold.decidedVersion,
    isPlaced ? fold.decisionVersion : fold.decidedVersion,
  );
  const ours = {
    ...allocationRowOf(fold.scalars),
    decisionVersion,
    pos: within(pos, fold.decidedPos, isPlaced ? pos : fold.decidedPos),
  };
  const theirs = { ...record, decisionVersion: stored.decisionVersion, pos };
  return ROW_MEMBERS.flatMap((member) =>
    theirs[member] === ours[member]
      ? []
      : [{ stream, pos, member: `table.${member}`, recorded: theirs[member], folded: ours[member] }],
  );
}

const ROW_MEMBERS = [
  'status',
  'openQuestion',
  'questionExpiresAt',
  'decisionVersion',
  'pos',
] as const satisfies readonly (keyof AllocationRow | 'decisionVersion' | 'pos')[];

function within(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most));
}

function foldEvent(before: StreamFold, event: KnownEvent): Step {
  const { row } = event;
  const { after, impossible } = evolved(before, event);
  const fold: StreamFold = {
    streamVersion: row.streamVersion,
    decisionVersion: after.version,
    scalars: after.scalars,
    decidedVersion: isAllocationDecision(event) ? after.version : before.decidedVersion,
    decidedPos: isAllocationDecision(event) ? row.pos : before.decidedPos,
    stopped: false,
  };
  const differences: Difference[] = [];
  if (row.decisionVersion !== fold.decisionVersion) {
    differences.push(difference(row, 'decisionVersion', row.decisionVersion, fold.decisionVersion));
  }
  if (!isAllocationDecision(event)) return { fold, differences };

  if (impossible !== null)
    differences.push(difference(row, 'event', event.type, `impossible: ${impossible}`));
  const { saw } = readMeta(row);
  if (saw !== null && saw !== before.decisionVersion) {
    differences.push(difference(row, 'saw', saw, before.decisionVersion));
  }
  differences.push(...differingScalars(row, event.data.after, fold.scalars));
  return { fold, differences };
}

/** The state after an event. An event that cannot have happened there changes nothing but the version. */
function evolved({ decisionVersion, scalars }: StreamFold, event: KnownEvent) {
  const before = { version: decisionVersion, scalars, declined: [], provenance: [] };
  try {
    return { after: evolveRecorded(before, event), impossible: null };
  } catch (error) {
    const impossible = error instanceof Error ? error.message : String(error);
    return { after: { ...before, version: decisionVersion + 1 }, impossible };
  }
}

function differingScalars(row: RecordedEvent, recorded: Scalars, folded: Scalars): readonly Difference[] {
  if (isSame(recorded, folded)) return [];
  const ours = flattened(folded);
  const theirs = flattened(recorded);
  return [...new Set([...theirs.keys(), ...ours.keys()])].flatMap((member) => {
    const [one, other] = [theirs.get(member) ?? null, ours.get(member) ?? null];
    return one === other ? [] : [difference(row, `after.${member}`, one, other)];
  });
}

/** The ordinary case without building anything: it is asked once for every decision of the log. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => isSame(Reflect.get(one, name), Reflect.get(other, name)))
  );
}

/** Scalars by path, so that a difference names the one member that differs. */
function flattened(scalars: Scalars): ReadonlyMap<string, Compared> {
  const { openQuestion, questionTimes, ...plain } = scalars;
  return new Map<string, Compared>([
    ...Object.entries(plain),
    ['questionTimes', questionTimes.join(' ')],
    ...(openQuestion === null
      ? [['openQuestion', null] as const]
      : Object.entries(openQuestion).map(([name, value]) => [`openQuestion.${name}`, value] as const)),
  ]);
}

function stop(before: StreamFold, found: Difference): Step {
  return { fold: { ...before, stopped: true }, differences: [found] };
}

function difference(
  { stream, pos }: RecordedEvent,
  member: string,
  recorded: Compared,
  folded: Compared,
): Difference {
  return { stream, pos, member, recorded, folded };
}
