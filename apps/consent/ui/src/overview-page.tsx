import type { ComponentChildren, JSX } from 'preact';
import type { OverviewView } from '#domain/audit/views';
import { AllocationTable } from './allocation-table.tsx';
import { api } from './api.ts';
import { costUntil } from './as-of.ts';
import { nowMs, useNow } from './clock.ts';
import { usePage } from './page-context.ts';
import { ParkedEvents } from './parked-events.tsx';
import { Failed, Link, Loading, Moment, Name, ViewHeading } from './parts.tsx';
import { allocationPath, overviewPath } from './route.ts';
import { Outcome, Status } from './state-panel.tsx';
import { useCall } from './use-call.ts';
import { counted, plain, stretch, usd } from './words.ts';

const REFRESH_MS = 5_000;
/** Beyond this an app is not ready (design 6). */
const LAG_BAD_S = 5;

/** The deployment at a glance: what waits, what bills, what is wrong, how far each app is. */
export function OverviewPage({ filters }: { readonly filters: ReadonlyMap<string, string> }): JSX.Element {
  const { caller } = usePage();
  const { value, failure, reload } = useCall('overview', api.overview, REFRESH_MS);
  return (
    <>
      <div class="view-head">
        <ViewHeading>Overview</ViewHeading>
        {value === null ? null : <AsOfHead overview={value} stale={failure !== null} />}
      </div>
      {value === null && failure === null ? <Loading what="the overview" /> : null}
      {value === null && failure !== null ? (
        <Failed what="the overview" failure={failure} again={reload} />
      ) : null}
      {value === null ? null : (
        <>
          <Tiles overview={value} />
          <Alerts overview={value} />
          <Billing overview={value} />
          <ParkedEvents parked={value.parked} mayOperate={caller.may.operate} reload={reload} />
          <div class="columns">
            <States overview={value} />
            <Consumers overview={value} />
          </div>
          <AllocationTable filters={filters} />
        </>
      )}
    </>
  );
}

interface Part {
  readonly overview: OverviewView;
}

function AsOfHead({ overview: { head }, stale }: Part & { readonly stale: boolean }): JSX.Element {
  const now = useNow();
  return (
    <p role={stale ? 'status' : undefined}>
      {stale ? 'Could not be read anew, this is old. ' : ''}
      {head.at === null ? (
        'The log is empty.'
      ) : (
        <>
          Log at event <code>{head.pos}</code>, written <Moment at={head.at} now={now} />.
        </>
      )}
    </p>
  );
}

function Tiles({ overview }: Part): JSX.Element {
  const { bills, billsMore, alerts, alertsMore, parked, deadLetters, notices } = overview;
  const perHour = bills.reduce((sum, bill) => sum + (bill.costPerHourUsd ?? 0), 0);
  const unpriced = bills.some((bill) => bill.costPerHourUsd === null);
  return (
    <dl class="tiles">
      <Tile name="Open questions" tone={overview.openQuestions > 0 ? 'asked' : 'calm'}>
        <Link to="/">{overview.openQuestions}</Link>
      </Tile>
      <Tile
        name="Billing now"
        more={`${usd(perHour)} per hour${unpriced ? ', and some without a price' : ''}`}
      >
        {`${bills.length}${billsMore ? '+' : ''}`}
      </Tile>
      <Tile name="Alerts" tone={alerts.length > 0 ? 'bad' : 'calm'}>
        {`${alerts.length}${alertsMore ? '+' : ''}`}
      </Tile>
      <Tile name="Parked" tone={parked.length > 0 ? 'bad' : 'calm'} more="allocations that wait for a person">
        {parked.length}
      </Tile>
      <Tile name="Dead letters" tone={deadLetters > 0 ? 'asked' : 'calm'} more="refused messages of the bus">
        {deadLetters}
      </Tile>
      {notices === null ? null : (
        <Tile
          name="Notices"
          tone={notices.failing > 0 ? 'bad' : 'calm'}
          more={notices.failing > 0 ? `${notices.failing} failing` : 'waiting to be sent'}
        >
          {notices.waiting}
        </Tile>
      )}
    </dl>
  );
}

interface TileProps {
  readonly name: string;
  readonly tone?: 'calm' | 'asked' | 'bad';
  readonly more?: string;
  readonly children: ComponentChildren;
}

function Tile({ name, tone = 'calm', more, children }: TileProps): JSX.Element {
  return (
    <div class={`tile tile--${tone}`}>
      <dt>{name}</dt>
      <dd>
        <span class="tile__number">{children}</span>
        {more === undefined ? null : <span class="tile__more">{more}</span>}
      </dd>
    </div>
  );
}

function Alerts({ overview: { alerts, alertsMore } }: Part): JSX.Element {
  const now = useNow(10_000);
  return (
    <section class="panel" aria-labelledby="alerts-title">
      <h2 id="alerts-title">Alerts</h2>
      {alerts.length === 0 ? (
        <p class="absent">None open.</p>
      ) : (
        <ul class="rows rows--flat">
          {alerts.map((alert) => (
            <li key={alert.pos} class="row row--bad">
              <b class="row__main">{plain(alert.alert)}</b>
              <Link to={allocationPath(alert.ref, { kind: 'pos', pos: alert.pos })}>
                <Name name={alert.name} allocationRef={alert.ref} />
              </Link>
              <code class="long">{alert.subject}</code>
              <span>
                since <Moment at={alert.at} now={now} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {alertsMore ? <p class="hint">There are more than are listed here.</p> : null}
    </section>
  );
}

function Billing({ overview: { bills, billsMore } }: Part): JSX.Element {
  const now = useNow();
  return (
    <section class="panel" aria-labelledby="bills-title">
      <h2 id="bills-title">What bills now</h2>
      {bills.length === 0 ? (
        <p class="absent">Nothing of ours bills.</p>
      ) : (
        <div class="table-frame">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Allocation</th>
                <th scope="col">Instance</th>
                <th scope="col">Lane</th>
                <th scope="col" class="number">
                  For
                </th>
                <th scope="col" class="number">
                  Per hour
                </th>
                <th scope="col" class="number">
                  So far
                </th>
              </tr>
            </thead>
            <tbody>
              {bills.map((bill) => {
                const soFar = costUntil(bill, now);
                return (
                  <tr key={bill.instance}>
                    <td data-label="Allocation">
                      <Link to={allocationPath(bill.ref)}>
                        <Name name={bill.name} allocationRef={bill.ref} />
                      </Link>
                    </td>
                    <td data-label="Instance">
                      <code class="long">{bill.instance}</code>
                    </td>
                    <td data-label="Lane">{bill.lane}</td>
                    <td data-label="For" class="number">
                      {stretch(now - Date.parse(bill.sinceAt))}
                    </td>
                    <td data-label="Per hour" class="number">
                      {bill.costPerHourUsd === null ? 'not known' : usd(bill.costPerHourUsd)}
                    </td>
                    <td data-label="So far" class="number">
                      {soFar === null ? 'not known' : usd(soFar)}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {billsMore ? <p class="hint">There are more than are listed here.</p> : null}
    </section>
  );
}

function States({ overview: { allocations } }: Part): JSX.Element {
  return (
    <section class="panel" aria-labelledby="states-title">
      <h2 id="states-title">{counted(allocations.total, 'allocation')} by state</h2>
      <h3>Record of attempts</h3>
      <Shares
        by={allocations.byStatus}
        total={allocations.total}
        filter="status"
        shown={(status) => <Status status={status} />}
      />
      <h3>Placement</h3>
      <Shares
        by={allocations.byOutcome}
        total={allocations.total}
        filter="outcome"
        shown={(outcome) => <Outcome outcome={outcome} />}
      />
    </section>
  );
}

interface SharesProps {
  readonly by: Readonly<Record<string, number>>;
  readonly total: number;
  readonly filter: 'status' | 'outcome';
  readonly shown: (key: string) => JSX.Element;
}

function Shares({ by, total, filter, shown }: SharesProps): JSX.Element {
  const rows = Object.entries(by).sort(([, one], [, other]) => other - one);
  if (rows.length === 0) return <p class="absent">None.</p>;
  return (
    <ul class="shares">
      {rows.map(([key, count]) => (
        <li key={key}>
          <Link to={overviewPath(new Map([[filter, key]]))}>{shown(key)}</Link>
          <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect width={Math.max(1, (100 * count) / Math.max(1, total))} height="6" rx="1" />
          </svg>
          <b>{count}</b>
        </li>
      ))}
    </ul>
  );
}

function Consumers({ overview: { consumers } }: Part): JSX.Element {
  return (
    <section class="panel" aria-labelledby="lag-title">
      <h2 id="lag-title">How far each app is</h2>
      {consumers.length === 0 ? (
        <p class="absent">No app has read the log yet.</p>
      ) : (
        <ul class="lags">
          {consumers.map(({ consumer, lagEvents, lagS, updatedAt }) => (
            <li key={consumer} class={lagS > LAG_BAD_S ? 'lag lag--bad' : 'lag'}>
              <b>{consumer}</b>
              <span>
                {lagEvents === 0
                  ? 'up to date'
                  : `${counted(lagEvents, 'event')} behind, ${stretch(lagS * 1_000)}`}
              </span>
              <span class="lag__seen">
                moved <Moment at={updatedAt} now={nowMs()} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
