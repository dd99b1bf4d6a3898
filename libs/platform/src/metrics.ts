import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** Label names with every value that each may have. */
export type LabelSets = Readonly<Record<string, readonly string[]>>;
export type Labels<Sets extends LabelSets> = { readonly [Name in keyof Sets]: Sets[Name][number] };

export interface Counting<Sets extends LabelSets> {
  /** Adds `by` (default 1) to one series. */
  add(labels: Labels<Sets>, by?: number): void;
}

export interface Level<Sets extends LabelSets> {
  set(labels: Labels<Sets>, value: number): void;
}

export interface Distribution<Sets extends LabelSets> {
  /** Records one value, in the unit that the metric's name ends with. */
  observe(labels: Labels<Sets>, value: number): void;
}

/**
 * The metrics of one app. Labels take values from closed sets only, so that no caller can put a name in a
 * metric or make as many series as it likes (fallback 7); anything else is counted under `other`.
 */
export class Metrics {
  readonly #registry = new Registry();

  constructor(app: string) {
    this.#registry.setDefaultLabels({ app });
  }

  /** Also memory, CPU and event loop of the process. Call it once per process. */
  includeProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
  }

  counter<const Sets extends LabelSets>(name: string, help: string, sets: Sets): Counting<Sets> {
    const counter = new Counter({ name, help, labelNames: Object.keys(sets), registers: [this.#registry] });
    // A series that is missing until its first event cannot be told from one that nobody counts.
    for (const labels of combinations(sets)) counter.inc(labels, 0);
    return { add: (labels, by = 1) => counter.inc(closed(sets, labels), by) };
  }

  gauge<const Sets extends LabelSets>(name: string, help: string, sets: Sets): Level<Sets> {
    const gauge = new Gauge({ name, help, labelNames: Object.keys(sets), registers: [this.#registry] });
    return { set: (labels, value) => gauge.set(closed(sets, labels), value) };
  }

  /** `buckets` are upper bounds in the unit of the name, ascending. */
  histogram<const Sets extends LabelSets>(
    name: string,
    help: string,
    sets: Sets,
    buckets: readonly number[],
  ): Distribution<Sets> {
    const histogram = new Histogram({
      name,
      help,
      labelNames: Object.keys(sets),
      buckets: [...buckets],
      registers: [this.#registry],
    });
    return { observe: (labels, value) => histogram.observe(closed(sets, labels), value) };
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics in the Prometheus text form, for `/metrics`. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}

function closed(sets: LabelSets, labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(sets).map(([name, values]) => {
      const value = labels[name];
      return [name, value !== undefined && values.includes(value) ? value : 'other'];
    }),
  );
}

function combinations(sets: LabelSets): readonly Record<string, string>[] {
  return Object.entries(sets).reduce<readonly Record<string, string>[]>(
    (rows, [name, values]) => rows.flatMap((row) => values.map((value) => ({ ...row, [name]: value }))),
    [{}],
  );
}
