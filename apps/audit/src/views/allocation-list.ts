import type { AllocationList, AllocationListRow } from '#domain/audit/views';
import type { LogReader, PlacementRow } from '#domain/log';
import type { ListedAllocation, ListFilter, OverviewReads } from '#event-log/overview';
import { instantMs } from '#events/instant';
import { refOfStream } from '#events/streams';
import { type AsOf, positionAt } from './as-of.ts';
import type { ListQuery } from './queries.ts';

export type ListLog = Pick<LogReader, 'head' | 'at'> & {
  readonly overview: Pick<OverviewReads, 'newest'>;
};

/** What is searched for beside the filters: refs that begin so; null = all. */
export type ListSearch = Omit<ListQuery, 'q' | 'name'> & { readonly refPrefix: string | null };

/** One page of allocations, newest change first; `next` goes on behind it. */
export async function allocationList(log: ListLog, search: ListSearch): Promise<AllocationList> {
  const { limit, after } = search;
  const found = await log.overview.newest(await filterOf(log, search), limit + 1, after);
  const rows = found.slice(0, limit);
  return {
    rows: rows.map(rowOf),
    next: found.length > limit ? String(rows.at(-1)?.pos ?? '') : null,
  };
}

async function filterOf(log: ListLog, search: ListSearch): Promise<ListFilter> {
  const { status, outcome, reason, lane, bills, alerts, refPrefix, since, until } = search;
  return {
    ...(status === undefined ? {} : { status }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(reason === undefined ? {} : { reason }),
    ...(lane === undefined ? {} : { lane }),
    ...(bills === undefined ? {} : { bills }),
    ...(alerts === undefined ? {} : { hasAlerts: alerts }),
    ...(refPrefix === null ? {} : { refPrefix }),
    ...(since === undefined ? {} : { fromPos: await firstPos(log, since) }),
    ...(until === undefined ? {} : { toPos: await lastPos(log, until) }),
  };
}

async function firstPos(log: ListLog, since: AsOf): Promise<number> {
  if ('pos' in since) return since.pos;
  // The log's times have milliseconds: what is not after the one before is at or after this one.
  const before = new Date(instantMs(since.time) - 1).toISOString();
  return (await positionAt(log, before)) + 1;
}

async function lastPos(log: ListLog, until: AsOf): Promise<number> {
  return 'pos' in until ? until.pos : positionAt(log, until.time);
}

/** Of what was never launched: an acceptance alone leaves a row too, whose placement has no outcome. */
function outcomeOf({ outcome }: PlacementRow): string | null {
  return outcome === 'unchanged' ? null : outcome;
}

function rowOf({ stream, record, placement, pos, at }: ListedAllocation): AllocationListRow {
  return {
    ref: refOfStream(stream) ?? stream,
    status: record?.status ?? null,
    outcome: placement === null ? null : outcomeOf(placement),
    reason: placement?.reason ?? null,
    lane: placement?.lane ?? null,
    instance: placement?.instance ?? null,
    openQuestion: record?.openQuestion ?? null,
    bills: placement?.bills ?? false,
    pos,
    at,
  };
}
