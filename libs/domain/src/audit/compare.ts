import type { KnownEvent } from '#events/catalogue';
import type { EventMeta, RecordedEvent } from '#events/envelope';
import type { Scalars } from '#events/scalars';
import { readEvent, readMeta, UnreadableEvent } from '#events/upcast';
import type { Observation } from '#events/watch.events';
import { allocationRowOf, isAllocationDecision, NO_RECORD, scalarsAfter } from '../allocation.ts';
import type { AllocationRow } from '../log.ts';
import type { StoredAllocation } from '../log-tables.ts';
import { NOT_PLACED, type Placement } from '../placement.ts';
import { evolveRecordedPlacement } from '../placement-fold.ts';
import { placementRowOf } from '../placement-row.ts';
import { type Difference, difference, differing } from './differing.ts';
import { type Due, differingFact, judgeAgain, missingFacts } from './rejudge.ts';

/**
 * How far a stream has been folded. Compact, since one is kept for every allocation of a pass: the provenance
 * and the declined evidence stand in no scalar, and no rule of failover asks for them.
 */
export interface StreamFold {
  readonly streamVersion: number;
  readonly decisionVersion: number;
  readonly scalars: Scalars;
  /** Version and position of the record's last decision; 0 before the first. */
  readonly decidedVersion: number;
  readonly decidedPos: number;
  readonly placement: Placement;
  /** The command that is being read, and the decision version before it: what its decisions saw. */
  readonly command: { readonly id: string; readonly saw: number } | null;
  /** Observations that were recorded and not judged yet. */
  readonly observations: readonly { readonly eventId: string; readonly observation: Observation }[];
  /** What today's rules say must still follow in this command. */
  readonly due: Due | null;
  /** A late instance was recorded on no exact version: whether it bills stands in the row with the next fact. */
  readonly lateInstance: boolean;
  /** The stream cannot be folded on: a row is missing or unreadable. */
  readonly stopped: boolean;
}

export const NOT_FOLDED: StreamFold = {
  streamVersion: 0,
  decisionVersion: 0,
  scalars: NO_RECORD,
  decidedVersion: 0,
  decidedPos: 0,
  placement: NOT_PLACED,
  command: null,
  observations: [],
  due: null,
  lateInstance: false,
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
 * What is left to say of a stream once all of it is folded: what today's rules decide and nobody recorded, and
 * what the table says of it against the fold; null = the table has no row.
 */
export function compareRow(
  stream: string,
  fold: StreamFold,
  stored: StoredAllocation | null,
): readonly Difference[] {
  if (fold.stopped) return [];
  return [
    ...missingFacts(fold.due),
    ...compareRecord(stream, fold, stored),
    ...comparePlacement(stream, fold, stored),
  ];
}

/**
 * Once a placement has been written beside it, the row may have moved on without the record: its version and
 * position are then only bounded by the record's last decision and by the end of the fold.
 */
function compareRecord(
  stream: string,
  fold: StreamFold,
  stored: StoredAllocation | null,
): readonly Difference[] {
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

/** Whatever changes this half of the row has written it: by it the passes find what is left to do. */
function comparePlacement(
  stream: string,
  { placement, lateInstance }: StreamFold,
  stored: StoredAllocation | null,
): readonly Difference[] {
  const row = stored?.placement ?? null;
  const place = { stream, pos: stored?.pos ?? 0 };
  if (row !== null) {
    const today = placementRowOf(placement);
    // A row that was last written before alerts were counted says nothing of them.
    const folded = row.alerts === null ? { ...today, alerts: null } : today;
    return differing(place, 'table', row, lateInstance ? { ...folded, bills: row.bills } : folded);
  }
  return placement.launch === null ? [] : [difference(place, 'table.placement', 'no row', 'a row')];
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
  const decision = isAllocationDecision(event) ? event : null;
  const meta = decision !== null || event.type === 'ObservationJudged' ? readMeta(row) : NO_META;
  const { version, scalars, impossible } = evolved(before, event);
  const command =
    before.command?.id === row.commandId
      ? before.command
      : { id: row.commandId, saw: before.decisionVersion };
  const judged = judge(before, event, meta);
  const fold: StreamFold = {
    streamVersion: row.streamVersion,
    decisionVersion: version,
    scalars,
    decidedVersion: decision === null ? before.decidedVersion : version,
    decidedPos: decision === null ? before.decidedPos : row.pos,
    placement: evolveRecordedPlacement(before.placement, event),
    command,
    observations: observationsAfter(before.observations, event, meta),
    due: judged.due,
    lateInstance: event.type === 'LateInstanceSeen' || (before.lateInstance && isBesideThePlacement(event)),
    stopped: false,
  };
  const differences = [...judged.differences];
  if (row.decisionVersion !== version) {
    differences.push(difference(row, 'decisionVersion', row.decisionVersion, version));
  }
  if (meta.saw !== null && meta.saw !== command.saw) {
    differences.push(difference(row, 'saw', meta.saw, command.saw));
  }
  if (decision === null) return { fold, differences };

  if (impossible !== null)
    differences.push(difference(row, 'event', event.type, `impossible: ${impossible}`));
  differences.push(...differing(row, 'after', decision.data.after, scalars));
  return { fold, differences };
}

/** Of an event whose cause is not compared. */
const NO_META: EventMeta = { causedBy: null, saw: null };

function isBesideThePlacement(event: KnownEvent): boolean {
  return event.row.role === 'input' || isAllocationDecision(event);
}

/** The record after an event. An event that cannot have happened there changes nothing but the version. */
function evolved({ decisionVersion, scalars }: StreamFold, event: KnownEvent) {
  if (event.row.role === 'input') return { version: decisionVersion, scalars, impossible: null };
  const version = decisionVersion + 1;
  if (!isAllocationDecision(event)) return { version, scalars, impossible: null };
  try {
    const before = { version: decisionVersion, scalars };
    return { version, scalars: scalarsAfter(before, event), impossible: null };
  } catch (error) {
    const impossible = error instanceof Error ? error.message : String(error);
    return { version, scalars, impossible };
  }
}

/** Compares a judgement, and each fact recorded with it, with what today's rules decide there. */
function judge(
  before: StreamFold,
  event: KnownEvent,
  meta: EventMeta,
): { readonly due: Due | null; readonly differences: readonly Difference[] } {
  const { row } = event;
  const { due } = before;
  if (due !== null && due.commandId === row.commandId) {
    const [ours, ...rest] = due.facts;
    return { due: { ...due, facts: rest }, differences: differingFact(event, ours) };
  }
  const missing = missingFacts(due);
  if (event.type !== 'ObservationJudged') return { due: null, differences: missing };
  const observation = observationOf(before, meta);
  if (observation === null) {
    const uncaused = difference(row, 'judged', event.type, 'no observation caused it');
    return { due: null, differences: [...missing, uncaused] };
  }
  const record = { version: before.decisionVersion, scalars: before.scalars };
  const [ours, ...rest] = judgeAgain(before.placement, record, observation, event);
  const place = { stream: row.stream, pos: row.pos };
  return {
    due: { commandId: row.commandId, place, facts: rest },
    differences: [...missing, ...differingFact(event, ours)],
  };
}

function observationOf({ observations }: StreamFold, { causedBy }: EventMeta): Observation | null {
  return observations.find(({ eventId }) => eventId === causedBy)?.observation ?? null;
}

/** An observation is kept until it is judged. */
function observationsAfter(
  before: StreamFold['observations'],
  { type, data, row }: KnownEvent,
  { causedBy }: EventMeta,
): StreamFold['observations'] {
  if (type === 'ObservationReported') {
    return [...before, { eventId: row.eventId, observation: data.observation }];
  }
  return type === 'ObservationJudged' ? before.filter(({ eventId }) => eventId !== causedBy) : before;
}

function stop(before: StreamFold, found: Difference): Step {
  return { fold: { ...before, stopped: true }, differences: [found] };
}
