import type { OverviewView } from '#domain/audit/views';
import type { LogReader } from '#domain/log';
import type { StreamFinder } from '#event-log/find-stream';
import { allocationStream } from '#events/streams';
import { type Caller, mayDo } from '#platform/auth';
import type { Clock } from '#platform/clock';
import { type Problem, parseQuery, problem } from '#platform/problem';
import { allocationList, type ListLog } from './allocation-list.ts';
import { allocationView } from './allocation-view.ts';
import { stateAsOf, stateNow } from './as-of.ts';
import { type OverviewLog, Overviews } from './overview-view.ts';
import { ListQuery, REF, REF_PREFIX, StateQuery, ViewQuery } from './queries.ts';
import type { Unsealer } from './story-lines.ts';
import { StoryPlaces } from './story-places.ts';

export type AuditResult =
  | { readonly kind: 'answered'; readonly body: object }
  | { readonly kind: 'refused'; readonly problem: Problem };

export interface AuditCallsOptions {
  readonly log: OverviewLog & ListLog & Pick<LogReader, 'readStream'>;
  readonly streams: StreamFinder;
  readonly unsealer: Unsealer;
  readonly clock: Clock;
}

/** The reads of the audit, each from its parameters to its body. Rejects with LogUnavailable. */
export class AuditCalls {
  readonly #options: AuditCallsOptions;
  readonly #overviews: Overviews;
  readonly #places = new StoryPlaces();

  constructor(options: AuditCallsOptions) {
    this.#options = options;
    this.#overviews = new Overviews(options.log, options.clock);
  }

  /** `GET /api/audit/overview`. */
  async overview(caller: Caller): Promise<AuditResult> {
    const view = await this.#overviews.get();
    return { kind: 'answered', body: mayDo(caller, 'unseal') ? await this.#withNames(view) : view };
  }

  /** `GET /api/audit/allocations`. To find by a name is to learn that it is there: that takes the right to unseal. */
  async list(query: unknown, caller: Caller): Promise<AuditResult> {
    const parsed = parseQuery(ListQuery, query);
    if (!parsed.ok) return { kind: 'refused', problem: parsed.problem };
    const { q, name, ...search } = parsed.value;
    const sought = name ?? (q === undefined || REF_PREFIX.test(q) ? null : q);
    if (sought !== null && !mayDo(caller, 'unseal')) {
      return { kind: 'refused', problem: problem('not_permitted') };
    }
    const refPrefix = sought === null ? (q ?? null) : await this.#refOf(sought);
    const page = await allocationList(this.#options.log, { ...search, refPrefix });
    return {
      kind: 'answered',
      body: mayDo(caller, 'unseal') ? { ...page, rows: await this.#named(page.rows) } : page,
    };
  }

  /** `GET /api/audit/allocations/:ref`. */
  async allocation(ref: string, query: unknown, caller: Caller): Promise<AuditResult> {
    const parsed = parseQuery(ViewQuery, query);
    if (!parsed.ok) return { kind: 'refused', problem: parsed.problem };
    if (!REF.test(ref)) return NOT_FOUND;
    const { log, unsealer, clock } = this.#options;
    const view = await allocationView(log, allocationStream(ref), {
      ...parsed.value,
      at: clock.now(),
      unsealer: mayDo(caller, 'unseal') ? unsealer : null,
      places: this.#places,
    });
    return view === null ? NOT_FOUND : { kind: 'answered', body: view };
  }

  /** `GET /api/audit/allocations/:ref/state`; without `as_of` the state now. */
  async state(ref: string, query: unknown): Promise<AuditResult> {
    const parsed = parseQuery(StateQuery, query);
    if (!parsed.ok) return { kind: 'refused', problem: parsed.problem };
    if (!REF.test(ref)) return NOT_FOUND;
    const { as_of: asOf } = parsed.value;
    const stream = allocationStream(ref);
    const { log, clock } = this.#options;
    const view =
      asOf === undefined ? await stateNow(log, stream, clock.now()) : await stateAsOf(log, stream, asOf);
    return view === null ? NOT_FOUND : { kind: 'answered', body: view };
  }

  async #withNames(view: OverviewView): Promise<OverviewView> {
    const [bills, alerts, parked] = await Promise.all([
      this.#named(view.bills),
      this.#named(view.alerts),
      this.#named(view.parked),
    ]);
    return { ...view, bills, alerts, parked };
  }

  /** Opened at each read and never kept: an erased name must be gone at once. */
  #named<Row extends { readonly ref: string }>(
    rows: readonly Row[],
  ): Promise<readonly (Row & { readonly name: string | null })[]> {
    const { unsealer } = this.#options;
    return Promise.all(
      rows.map(async (row) => ({
        ...row,
        name: await unsealer.open(allocationStream(row.ref), 'name', row.ref),
      })),
    );
  }

  async #refOf(name: string): Promise<string> {
    return (await this.#options.streams.find(name.trim())).ref;
  }
}

const NOT_FOUND: AuditResult = { kind: 'refused', problem: problem('not_found') };
