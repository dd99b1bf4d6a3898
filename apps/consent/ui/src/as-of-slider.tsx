import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { AllocationLine, BarView } from '#domain/audit/views';
import { Chart } from './chart.tsx';
import type { AsOf } from './route.ts';
import { type Spacing, scaleOf } from './scale.ts';
import { instant } from './words.ts';

interface AsOfSliderProps {
  readonly lines: readonly AllocationLine[];
  readonly bars: readonly BarView[];
  readonly endMs: number;
  readonly asOf: AsOf;
  readonly atMs: number;
  readonly line: AllocationLine | null;
  readonly look: (next: AsOf) => void;
}

const FIRST_WIDTH_PX = 640;
/** So many steps have the slider's whole way. */
const STEPS = 1_000;

/** The chart over time, and the slider below it that chooses the moment at which everything is shown. */
export function AsOfSlider(props: AsOfSliderProps): JSX.Element {
  const { lines, bars, endMs, asOf, atMs, line, look } = props;
  const [spacing, setSpacing] = useState<Spacing>('fitted');
  const { place, width } = useWidth();
  const moments = useMemo(() => momentsOf(lines, bars, endMs), [lines, bars, endMs]);
  const scale = useMemo(() => scaleOf(moments, width, spacing), [moments, width, spacing]);
  const index = line === null ? -1 : lines.indexOf(line);
  const toLine = (other: AllocationLine | undefined) => {
    if (other !== undefined) look({ kind: 'pos', pos: other.pos });
  };

  return (
    <>
      <div class="asof__head">
        <h2 id="asof-title">
          {asOf.kind === 'now' ? 'Now' : 'As of '}
          {asOf.kind === 'now' ? null : (
            <time dateTime={new Date(atMs).toISOString()}>{instant(new Date(atMs).toISOString())}</time>
          )}
        </h2>
        <label class="switch">
          <input
            type="checkbox"
            checked={spacing === 'true'}
            onChange={(event) => setSpacing(event.currentTarget.checked ? 'true' : 'fitted')}
          />
          True time scale
        </label>
      </div>
      <div class="chart" ref={place}>
        <Chart bars={bars} moments={moments} scale={scale} atMs={atMs} endMs={endMs} />
        <input
          class="chart__slider"
          type="range"
          min={0}
          max={STEPS}
          value={Math.round((scale.toX(atMs) / width) * STEPS)}
          aria-label="Moment at which the state is shown"
          aria-valuetext={spoken(asOf, atMs, line)}
          onInput={(event) => {
            const step = Number(event.currentTarget.value);
            look(step === STEPS ? { kind: 'now' } : { kind: 'time', ms: scale.toMs((step / STEPS) * width) });
          }}
        />
      </div>
      <div class="asof__steps">
        <button
          type="button"
          class="button button--small"
          disabled={index <= 0}
          onClick={() => toLine(lines[index - 1])}
        >
          ‹ Before<span class="unseen">, the event</span>
        </button>
        <button
          type="button"
          class="button button--small"
          disabled={asOf.kind === 'now' || index >= lines.length - 1}
          onClick={() => toLine(lines[index + 1])}
        >
          After ›<span class="unseen">, the event</span>
        </button>
        <button
          type="button"
          class="button button--small"
          disabled={asOf.kind === 'now'}
          onClick={() => look({ kind: 'now' })}
        >
          Now
        </button>
        <p class="asof__line">
          {line === null ? (
            'Before the first event.'
          ) : (
            <>
              After event <code>{line.pos}</code>: <b>{line.who}</b> {line.what}
            </>
          )}
        </p>
      </div>
    </>
  );
}

function spoken(asOf: AsOf, atMs: number, line: AllocationLine | null): string {
  const when = asOf.kind === 'now' ? 'now' : instant(new Date(atMs).toISOString());
  return line === null ? `${when}, before the first event` : `${when}, after: ${line.who} ${line.what}`;
}

function momentsOf(
  lines: readonly AllocationLine[],
  bars: readonly BarView[],
  endMs: number,
): readonly number[] {
  const first = Date.parse(lines[0]?.at ?? '');
  const times = [...lines.map(({ at }) => at), ...bars.flatMap(({ from, to }) => [from, to ?? from])];
  const ms = times.map((at) => Date.parse(at)).filter((at) => at <= endMs);
  // Bars of the part that is not loaded would push everything else to the right edge.
  return [...(Number.isNaN(first) ? ms : ms.filter((at) => at >= first)), endMs];
}

function useWidth() {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(FIRST_WIDTH_PX);
  // Before the first picture: a chart wider than a phone would zoom the whole page out.
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    setWidth(Math.max(1, Math.floor(element.getBoundingClientRect().width)));
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.max(1, Math.floor(entry.contentRect.width)));
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { place, width };
}
