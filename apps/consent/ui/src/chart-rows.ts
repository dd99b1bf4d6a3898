import type { BarView } from '#domain/audit/views';
import { plain } from './words.ts';

/** One line of the chart: bars of one track that do not overlap. */
export interface ChartRow {
  readonly track: string;
  /** Only the first row of a track is headed by its name. */
  readonly first: boolean;
  readonly bars: readonly BarView[];
}

/** Above everything what people were asked, at the end what is on its way; lanes between, by their first bar. */
const FIRST = ['questions', 'record', 'placement'];
const LAST = ['intents'];

function rank(track: string): number {
  if (LAST.includes(track)) return FIRST.length + 1;
  const index = FIRST.indexOf(track);
  return index === -1 ? FIRST.length : index;
}

/** Tracks in their order; what overlaps within a track goes to a row below. */
export function chartRows(bars: readonly BarView[]): readonly ChartRow[] {
  const tracks = new Map<string, BarView[][]>();
  for (const bar of bars) {
    const rows = tracks.get(bar.track) ?? [];
    tracks.set(bar.track, rows);
    const row = rows.find((placed) => isFree(placed, bar));
    if (row === undefined) rows.push([bar]);
    else row.push(bar);
  }
  const inOrder = [...tracks].sort(([one], [other]) => rank(one) - rank(other));
  return inOrder.flatMap(([track, rows]) =>
    rows.map((placed, index) => ({ track, first: index === 0, bars: placed })),
  );
}

function isFree(row: readonly BarView[], bar: BarView): boolean {
  return row.every((other) => endsBy(other, bar.from) || endsBy(bar, other.from));
}

function endsBy({ to }: BarView, moment: string): boolean {
  return to !== null && to <= moment;
}

/** A bar in words: of a machine first what the provider says of it, then the end of its id, which tells most. */
export function barWords({ track, label }: BarView): string {
  const parts = /^(.*): (\w+)$/.exec(label);
  if (!track.startsWith('lane ') || parts === null) return plainWords(label);
  const [, id = '', status = ''] = parts;
  return `${plain(status)}, ${id.split('/').at(-1) ?? id}`;
}

/** `awaiting_consent: a_reason` keeps the reason as the log writes it. */
function plainWords(label: string): string {
  const [state = '', ...rest] = label.split(': ');
  return [plain(state), ...rest].join(': ');
}
