import type { BarView } from '#domain/audit/views';

/** One line of the chart: bars of one track that do not overlap. */
export interface ChartRow {
  readonly track: string;
  /** Only the first row of a track is headed by its name. */
  readonly first: boolean;
  readonly bars: readonly BarView[];
}

/** Tracks in the order of their first bar; what overlaps within a track goes to a row below. */
export function chartRows(bars: readonly BarView[]): readonly ChartRow[] {
  const tracks = new Map<string, BarView[][]>();
  for (const bar of bars) {
    const rows = tracks.get(bar.track) ?? [];
    tracks.set(bar.track, rows);
    const row = rows.find((placed) => isFree(placed, bar));
    if (row === undefined) rows.push([bar]);
    else row.push(bar);
  }
  return [...tracks].flatMap(([track, rows]) =>
    rows.map((placed, index) => ({ track, first: index === 0, bars: placed })),
  );
}

function isFree(row: readonly BarView[], bar: BarView): boolean {
  return row.every((other) => endsBy(other, bar.from) || endsBy(bar, other.from));
}

function endsBy({ to }: BarView, moment: string): boolean {
  return to !== null && to <= moment;
}
