/** How moments are laid out on a line of `width` pixels. */
export interface Scale {
  readonly width: number;
  /** Clamped to 0..width. */
  toX(ms: number): number;
  /** The inverse, clamped to the span. */
  toMs(x: number): number;
}

export type Spacing = 'fitted' | 'true';

interface Knot {
  readonly ms: number;
  readonly x: number;
}

const SECOND_MS = 1_000;
/** What a gap takes at least, next to the logarithm of its seconds. */
const LEAST_WEIGHT = 0.35;
/** More knots than pixels show nothing more. */
const MAX_KNOTS = 2_000;

/**
 * `true`: a second is as long as any other. `fitted`: long silences are shortened (by the logarithm of their
 * length), because a story has seconds in which everything happens and hours in which nothing does.
 * `moments` may be in any order and repeat; the span is from the first to the last of them.
 */
export function scaleOf(moments: readonly number[], width: number, spacing: Spacing): Scale {
  const sorted = [...new Set(moments)].sort((one, other) => one - other);
  const first = sorted[0] ?? 0;
  const last = sorted.at(-1) ?? first;
  // A span of nothing would put every moment at every place.
  const ends = last > first ? [first, last] : [first, first + SECOND_MS];
  const inner = spacing === 'true' || last === first ? ends : thinned(sorted);
  return piecewise(knotsOf(inner, width), width);
}

function thinned(sorted: readonly number[]): readonly number[] {
  if (sorted.length <= MAX_KNOTS) return sorted;
  const step = Math.ceil(sorted.length / MAX_KNOTS);
  return sorted.filter((_, index) => index % step === 0 || index === sorted.length - 1);
}

function knotsOf(moments: readonly number[], width: number): readonly Knot[] {
  const weights = moments.slice(1).map((ms, index) => {
    const gapS = (ms - (moments[index] ?? ms)) / SECOND_MS;
    return LEAST_WEIGHT + Math.log2(1 + gapS);
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let passed = 0;
  return moments.map((ms, index) => {
    if (index > 0) passed += weights[index - 1] ?? 0;
    return { ms, x: (passed / total) * width };
  });
}

function piecewise(knots: readonly Knot[], width: number): Scale {
  const between = (value: number, of: 'ms' | 'x', to: 'ms' | 'x'): number => {
    const after = knots.findIndex((knot) => knot[of] >= value);
    if (after === 0) return knots[0]?.[to] ?? 0;
    const high = knots[after === -1 ? knots.length - 1 : after];
    if (high === undefined) return 0;
    if (after === -1) return high[to];
    const low = knots[after - 1] ?? high;
    const share = high[of] === low[of] ? 1 : (value - low[of]) / (high[of] - low[of]);
    return low[to] + share * (high[to] - low[to]);
  };
  return {
    width,
    toX: (ms) => between(ms, 'ms', 'x'),
    toMs: (x) => between(x, 'x', 'ms'),
  };
}

/** Where to write times: at moments of the story, at least `apartPx` from each other, the first one always. */
export function ticksOf(scale: Scale, moments: readonly number[], apartPx: number): readonly Knot[] {
  const ticks: Knot[] = [];
  const second = (ms: number) => Math.floor(ms / SECOND_MS);
  for (const ms of [...new Set(moments)].sort((one, other) => one - other)) {
    const x = scale.toX(ms);
    const before = ticks.at(-1);
    // Two that would be written alike are one.
    const isNews = before === undefined || (x - before.x >= apartPx && second(ms) > second(before.ms));
    if (isNews) ticks.push({ ms, x });
  }
  // The last label would run out of the picture.
  return ticks.filter(({ x }, index) => index === 0 || x <= scale.width - apartPx * 0.6);
}
