import type { JSX } from 'preact';
import { useId, useMemo } from 'preact/hooks';
import type { BarView } from '#domain/audit/views';
import { barWords, chartRows } from './chart-rows.ts';
import { type Scale, ticksOf } from './scale.ts';
import { instant, plain, timeOfDay } from './words.ts';

interface ChartProps {
  readonly bars: readonly BarView[];
  readonly moments: readonly number[];
  readonly scale: Scale;
  readonly atMs: number;
  readonly endMs: number;
}

const BAR_PX = 18;
const ROW_PX = 22;
const HEAD_PX = 17;
const AXIS_PX = 20;
const LETTER_PX = 6.6;
const PADDING_PX = 6;
const TICKS_APART_PX = 84;

/** Lanes and states as bars over time. The same is a table below it, for those who cannot see the bars. */
export function Chart({ bars, moments, scale, atMs, endMs }: ChartProps): JSX.Element {
  const titleId = useId();
  const rows = useMemo(() => chartRows(bars), [bars]);
  const placed = useMemo(() => {
    let y = 0;
    const at = rows.map((row) => {
      if (row.first) y += HEAD_PX;
      const top = y;
      y += ROW_PX;
      return { row, top };
    });
    return { at, height: y };
  }, [rows]);
  const ticks = useMemo(() => ticksOf(scale, moments, TICKS_APART_PX), [scale, moments]);
  const { width } = scale;
  const cursor = scale.toX(atMs);

  return (
    <>
      <svg
        class="chart__picture"
        width={width}
        height={placed.height + AXIS_PX}
        viewBox={`0 0 ${width} ${placed.height + AXIS_PX}`}
        role="img"
        aria-labelledby={titleId}
      >
        <title id={titleId}>Lanes and states over time; the same as a table follows</title>
        {ticks.map(({ ms, x }) => (
          <g key={ms}>
            <line class="chart__grid" x1={x} x2={x} y1={0} y2={placed.height} />
            <text class="chart__tick" x={x} y={placed.height + 14}>
              {timeOfDay(new Date(ms).toISOString())}
            </text>
          </g>
        ))}
        {placed.at.map(({ row, top }) => (
          <g key={`${row.track} ${top}`}>
            {row.first ? (
              <text class="chart__track" x={0} y={top - 5}>
                {plain(row.track)}
              </text>
            ) : null}
            {row.bars.map((bar) => (
              <Bar key={`${bar.from} ${bar.label}`} bar={bar} scale={scale} top={top} endMs={endMs} />
            ))}
          </g>
        ))}
        <line class="chart__cursor" x1={cursor} x2={cursor} y1={0} y2={placed.height + 4} />
      </svg>
      <BarTable bars={bars} />
    </>
  );
}

interface BarProps {
  readonly bar: BarView;
  readonly scale: Scale;
  readonly top: number;
  readonly endMs: number;
}

function Bar({ bar, scale, top, endMs }: BarProps): JSX.Element {
  const from = scale.toX(Date.parse(bar.from));
  const to = scale.toX(bar.to === null ? endMs : Date.parse(bar.to));
  const wide = Math.max(3, to - from - 1);
  return (
    <g class={`bar bar--${bar.tone} ${bar.to === null ? 'bar--open' : ''}`}>
      <title>{`${barWords(bar)}: ${span(bar)}`}</title>
      <rect x={from} y={top} width={wide} height={BAR_PX} rx={Math.min(4, wide / 2)} />
      <svg x={from} y={top} width={wide} height={BAR_PX} aria-hidden="true">
        <text x={PADDING_PX} y={13}>
          {fitting(barWords(bar), wide - 2 * PADDING_PX)}
        </text>
      </svg>
    </g>
  );
}

/** As much of a label as its bar has room for. */
function fitting(label: string, widthPx: number): string {
  const letters = Math.floor(widthPx / LETTER_PX);
  if (label.length <= letters) return label;
  return letters < 3 ? '' : `${label.slice(0, letters - 1)}…`;
}

function span({ from, to }: BarView): string {
  return `${instant(from)} to ${to === null ? 'now' : instant(to)}`;
}

function BarTable({ bars }: { readonly bars: readonly BarView[] }): JSX.Element {
  return (
    // A table is as wide as its words, hidden or not: what hides it cuts it off.
    <div class="unseen">
      <table>
        <caption>Lanes and states over time</caption>
        <thead>
          <tr>
            <th scope="col">Track</th>
            <th scope="col">State</th>
            <th scope="col">From, to</th>
          </tr>
        </thead>
        <tbody>
          {bars.map((bar) => (
            <tr key={`${bar.track} ${bar.from} ${bar.label}`}>
              <td>{plain(bar.track)}</td>
              <td>{barWords(bar)}</td>
              <td>{span(bar)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
