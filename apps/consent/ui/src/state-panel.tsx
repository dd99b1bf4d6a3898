import type { ComponentChildren, JSX } from 'preact';
import type { BillView, StateView, UnreadableView } from '#domain/audit/views';
import { costUntil } from './as-of.ts';
import { Chip } from './parts.tsx';
import { ago, counted, instant, plain, short, stretch, timeOfDay, usd } from './words.ts';

interface StatePanelProps {
  readonly state: StateView;
  readonly atMs: number;
  readonly live: boolean;
}

/** Own state beside what the provider says (failover 13), and what bills. */
export function StatePanel({ state, atMs, live }: StatePanelProps): JSX.Element {
  const { record, placement, unreadable } = state;
  return (
    <>
      {unreadable === null ? null : <Unreadable unreadable={unreadable} state={state} />}
      <div class="states">
        <Group title="Spillway says">
          {placement === null ? (
            <Fact name="Placement">not launched through Spillway</Fact>
          ) : (
            <>
              <Fact name="Outcome">
                {placement.outcome === null ? 'none yet' : <Outcome outcome={placement.outcome} />}
              </Fact>
              {placement.reason === null ? null : (
                <Fact name="Reason">
                  <code>{placement.reason}</code>
                </Fact>
              )}
              {placement.rule === null ? null : (
                <Fact name="Rule">
                  <code>{placement.rule}</code>
                </Fact>
              )}
              <Fact name="Open intent">
                {placement.openIntent === null ? (
                  'none: nothing is being bought'
                ) : (
                  <code title={placement.openIntent}>{short(placement.openIntent)}</code>
                )}
              </Fact>
            </>
          )}
        </Group>
        <Provider placement={placement} atMs={atMs} />
        <Attempts record={record} />
        <Bills bills={placement?.bills ?? []} atMs={atMs} live={live} />
      </div>
    </>
  );
}

/** What attempts left behind. A question about a move makes a record too, which then says nothing of attempts. */
function Attempts({ record }: Pick<StateView, 'record'>): JSX.Element {
  const openQuestion = record?.openQuestion ?? null;
  const told = record === null || (record.count === 0 && record.status === 'tracking') ? null : record;
  return (
    <Group title="Record of attempts">
      {told === null ? (
        <Fact name="Attempts">none that counts</Fact>
      ) : (
        <>
          <Fact name="Status">
            <Chip tone={STATUS_TONES[told.status] ?? 'calm'}>{plain(told.status)}</Chip>
          </Fact>
          <Fact name="Failures that count">{told.count}</Fact>
          <Fact name="Pool">{told.pool}</Fact>
          <Fact name="Consent">{plain(told.consent)}</Fact>
        </>
      )}
      <Fact name="Open question">
        {openQuestion === null ? 'none' : <code title={openQuestion}>{short(openQuestion)}</code>}
      </Fact>
    </Group>
  );
}

interface UnreadableProps {
  readonly unreadable: UnreadableView;
  readonly state: StateView;
}

/** What is shown is not what is so: an event of a newer version came after it. */
function Unreadable({ unreadable, state }: UnreadableProps): JSX.Element {
  return (
    <div class="notice notice--bad" role="alert">
      <p>
        <strong>Event {unreadable.pos} cannot be read by this version</strong> (<code>{unreadable.why}</code>,{' '}
        {instant(unreadable.at)}).{' '}
        {state.pos === 0
          ? 'Nothing is known of the state.'
          : `The state below is that after event ${state.pos}.`}
      </p>
    </div>
  );
}

type Tone = 'calm' | 'asked' | 'moving' | 'bad' | 'good';

const STATUS_TONES: Readonly<Record<string, Tone>> = {
  'awaiting-consent': 'asked',
  consented: 'good',
  succeeded: 'good',
};

const OUTCOME_TONES: Readonly<Record<string, Tone>> = {
  awaiting_consent: 'asked',
  blocked: 'bad',
  waiting: 'moving',
  done: 'good',
  running_on_terminal: 'good',
  placed_primary: 'good',
};

export function Outcome({ outcome }: { readonly outcome: string }): JSX.Element {
  return <Chip tone={OUTCOME_TONES[outcome] ?? 'calm'}>{plain(outcome)}</Chip>;
}

export function Status({ status }: { readonly status: string }): JSX.Element {
  return <Chip tone={STATUS_TONES[status] ?? 'calm'}>{plain(status)}</Chip>;
}

interface ProviderProps {
  readonly placement: StateView['placement'];
  readonly atMs: number;
}

function Provider({ placement, atMs }: ProviderProps): JSX.Element {
  const { instance = null, provider = null } = placement ?? {};
  return (
    <Group title="The provider says">
      {instance === null ? (
        <Fact name="Instance">none of ours</Fact>
      ) : (
        <>
          <Fact name="Instance">
            <code class="long">{instance.id}</code>
          </Fact>
          <Fact name="Lane">
            {instance.lane}
            {instance.pool === null ? '' : `, ${instance.pool}`}
            {instance.rung === null ? '' : `, rung ${instance.rung}`}
          </Fact>
          <Fact name="Status">{provider === null ? 'not heard yet' : <b>{plain(provider.status)}</b>}</Fact>
          {provider === null ? null : (
            <Fact name="Observed">
              <time dateTime={provider.observedAt} title={instant(provider.observedAt)}>
                {ago(atMs - Date.parse(provider.observedAt))}, {timeOfDay(provider.observedAt)} UTC
              </time>
            </Fact>
          )}
        </>
      )}
    </Group>
  );
}

interface BillsProps {
  readonly bills: readonly BillView[];
  readonly atMs: number;
  readonly live: boolean;
}

function Bills({ bills, atMs, live }: BillsProps): JSX.Element {
  const title = live ? 'Bills now' : 'Billed then';
  if (bills.length === 0) {
    return (
      <Group title={title}>
        <Fact name="Machines">nothing</Fact>
      </Group>
    );
  }
  return (
    <section class="state state--bills">
      <h3>
        {title}: {counted(bills.length, 'machine')}
      </h3>
      <ul class="bills">
        {bills.map((bill) => (
          <li key={bill.instance}>
            <code class="long">{bill.instance}</code>
            <span>
              on {bill.lane} for {stretch(atMs - Date.parse(bill.sinceAt))}
            </span>
            <b>{cost(bill, atMs)}</b>
          </li>
        ))}
      </ul>
    </section>
  );
}

function cost(bill: BillView, atMs: number): string {
  const soFar = costUntil(bill, atMs);
  if (soFar === null || bill.costPerHourUsd === null) return 'price not known';
  return `${usd(soFar)} so far, ${usd(bill.costPerHourUsd)}/h`;
}

function Group({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="state">
      <h3>{title}</h3>
      <dl class="facts">{children}</dl>
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
