import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AllocationListRow } from '#domain/audit/views';
import { api, CallFailed } from './api.ts';
import { useNow } from './clock.ts';
import { Chip, Empty, Failed, Link, Loading, Moment, Name } from './parts.tsx';
import { allocationPath, go, overviewPath, questionPath } from './route.ts';
import { Outcome, Status } from './state-panel.tsx';
import { useCall } from './use-call.ts';
import { plain } from './words.ts';

const PAGE = 50;
const REFRESH_MS = 10_000;

const STATUSES = ['tracking', 'awaiting-consent', 'consented', 'declined', 'succeeded'];
const OUTCOMES = ['placed_primary', 'awaiting_consent', 'waiting', 'running_on_terminal', 'blocked', 'done'];

interface AllocationTableProps {
  readonly filters: ReadonlyMap<string, string>;
}

/** All allocations, or those that the filters leave; the address carries the filters. */
export function AllocationTable({ filters }: AllocationTableProps): JSX.Element {
  const key = overviewPath(filters);
  const { value, failure, reload } = useCall(key, () => api.allocations(filters, PAGE, null), REFRESH_MS);
  return (
    <section class="panel" aria-labelledby="list-title">
      <h2 id="list-title">Allocations</h2>
      <Filters filters={filters} />
      {value === null && failure === null ? <Loading what="the allocations" /> : null}
      {value === null && failure !== null ? (
        <Failed what="the allocations" failure={failure} again={reload} />
      ) : null}
      {value === null ? null : (
        <Rows key={`${key} rows`} first={value.rows} next={value.next} filters={filters} />
      )}
    </section>
  );
}

function Filters({ filters }: AllocationTableProps): JSX.Element {
  const apply = (form: HTMLFormElement) => {
    const given = [...new FormData(form)].flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()]] : [],
    );
    go(overviewPath(new Map(given)), { replace: true });
  };
  return (
    <form
      class="filters"
      aria-label="Filter the allocations"
      onSubmit={(event) => {
        event.preventDefault();
        apply(event.currentTarget);
      }}
      onChange={(event) => {
        // A text is applied when it was typed, a choice at once.
        if (event.target instanceof HTMLInputElement && event.target.type === 'search') return;
        apply(event.currentTarget);
      }}
    >
      <TextFilter name="q" label="Name, or beginning of the reference" given={filters.get('q')} wide />
      <Choice name="status" label="Record" values={STATUSES} chosen={filters.get('status')} />
      <Choice name="outcome" label="Placement" values={OUTCOMES} chosen={filters.get('outcome')} />
      <TextFilter name="lane" label="Lane" given={filters.get('lane')} />
      <span class="filters__end">
        <label class="switch">
          <input type="checkbox" name="bills" value="true" checked={filters.get('bills') === 'true'} />
          Bills now
        </label>
        <label class="switch">
          <input type="checkbox" name="alerts" value="true" checked={filters.get('alerts') === 'true'} />
          Has alerts
        </label>
        <button type="submit" class="button button--small">
          Search
        </button>
      </span>
    </form>
  );
}

interface TextFilterProps {
  readonly name: string;
  readonly label: string;
  readonly given: string | undefined;
  readonly wide?: boolean;
}

/** What is being typed stays while the list below is read anew; another address sets it. */
function TextFilter({ name, label, given = '', wide = false }: TextFilterProps): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (input.current !== null) input.current.value = given;
  }, [given]);
  return (
    <label class={wide ? 'field field--wide' : 'field'}>
      <span>{label}</span>
      <input ref={input} type="search" name={name} autocomplete="off" />
    </label>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly label: string;
  readonly values: readonly string[];
  readonly chosen: string | undefined;
}

function Choice({ name, label, values, chosen = '' }: ChoiceProps): JSX.Element {
  // A link may ask for a value of a later version.
  const offered = chosen === '' || values.includes(chosen) ? values : [...values, chosen];
  return (
    <label class="field">
      <span>{label}</span>
      <select name={name} value={chosen}>
        <option value="">any</option>
        {offered.map((value) => (
          <option key={value} value={value}>
            {plain(value)}
          </option>
        ))}
      </select>
    </label>
  );
}

interface RowsProps extends AllocationTableProps {
  readonly first: readonly AllocationListRow[];
  readonly next: string | null;
}

function Rows({ first, next, filters }: RowsProps): JSX.Element {
  const now = useNow(10_000);
  const [more, setMore] = useState<readonly AllocationListRow[]>([]);
  const [after, setAfter] = useState<string | null | 'first'>('first');
  const [failure, setFailure] = useState<CallFailed | null>(null);
  const follow = after === 'first' ? next : after;
  const load = async () => {
    try {
      const page = await api.allocations(filters, PAGE, follow);
      setMore((rows) => [...rows, ...page.rows]);
      setAfter(page.next);
      setFailure(null);
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      setFailure(error);
    }
  };
  const refs = new Set(first.map(({ ref }) => ref));
  const rows = [...first, ...more.filter(({ ref }) => !refs.has(ref))];
  if (rows.length === 0) {
    return filters.size === 0 ? (
      <Empty title="No allocation yet">The first report or launch makes one.</Empty>
    ) : (
      <Empty title="No allocation fits the filters">
        <Link to="/overview">Show all</Link>
      </Empty>
    );
  }
  return (
    <>
      <div class="table-frame">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Allocation</th>
              <th scope="col">Record</th>
              <th scope="col">Placement</th>
              <th scope="col">Lane</th>
              <th scope="col">Last event</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.ref} row={row} now={now} />
            ))}
          </tbody>
        </table>
      </div>
      {follow === null ? null : (
        <p class="more">
          <button type="button" class="button" onClick={() => void load()}>
            Show more
          </button>
          {failure === null ? null : <span role="alert">{failure.message}</span>}
        </p>
      )}
    </>
  );
}

function Row({ row, now }: { readonly row: AllocationListRow; readonly now: number }): JSX.Element {
  return (
    <tr>
      <td data-label="Allocation">
        <Link to={allocationPath(row.ref)}>
          <Name name={row.name} allocationRef={row.ref} />
        </Link>
      </td>
      <td data-label="Record">
        {row.status === null ? <span class="none">none</span> : <Status status={row.status} />}
        {row.openQuestion === null ? null : (
          <Link to={questionPath(row.openQuestion)} class="after">
            answer
          </Link>
        )}
      </td>
      <td data-label="Placement">
        {row.outcome === null ? (
          <span class="none">
            {row.status === 'consented' ? 'not launched; may use preemptible' : 'none'}
          </span>
        ) : (
          <Outcome outcome={row.outcome} />
        )}
        {row.reason === null ? null : <code class="reason">{row.reason}</code>}
      </td>
      <td data-label="Lane">
        {row.lane ?? <span class="none">none</span>}
        {row.bills ? <Chip tone="moving">bills</Chip> : null}
      </td>
      <td data-label="Last event">
        <Moment at={row.at} now={now} />
      </td>
    </tr>
  );
}
