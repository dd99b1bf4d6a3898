import type { Scalars } from '#events/scalars';
import type { Outcome } from '#events/watch.events';
import { currentInstance, laneOfMachine, openIntentOf, ownLeftovers, type Placement } from '../placement.ts';
import type { AuditedState } from './audited-state.ts';
import type { BarView } from './views.ts';

/** What holds at one moment: the same key with the same label goes on, another label begins a new bar. */
interface Held extends Pick<BarView, 'track' | 'label' | 'tone'> {
  readonly key: string;
}

interface Open extends Held {
  readonly from: string;
}

/** A chart that is being drawn, event by event. */
export interface Chart {
  /** At most BARS_MAX, the newest. */
  readonly closed: readonly BarView[];
  readonly open: readonly Open[];
  /** What the bars were drawn of last; null before the first. */
  readonly drawnOf: AuditedState | null;
}

export const EMPTY_CHART: Chart = { closed: [], open: [], drawnOf: null };

/** A chart with more bars than pixels helps nobody; the story has all of it. */
export const BARS_MAX = 500;

const RECORD_TONES: Readonly<Record<Scalars['status'], BarView['tone']>> = {
  tracking: 'calm',
  'awaiting-consent': 'asked',
  consented: 'good',
  declined: 'bad',
  succeeded: 'good',
};

const OUTCOME_TONES: Readonly<Record<Outcome, BarView['tone']>> = {
  placed_primary: 'good',
  running_on_terminal: 'good',
  awaiting_consent: 'asked',
  waiting: 'moving',
  unchanged: 'calm',
  done: 'good',
  blocked: 'bad',
};

/** By what the provider says; before it was asked the machine is on its way. */
const PROVIDER_TONES: Readonly<Record<string, BarView['tone']>> = {
  queued: 'moving',
  provisioning: 'moving',
  running: 'good',
  terminated: 'bad',
  not_found: 'bad',
  probe_error: 'bad',
};

/** Draws on: `state` holds from the moment of its newest event. What held for no time at all is no bar. */
export function drawn(chart: Chart, state: AuditedState): Chart {
  // Most events of a long story change nothing that a bar shows: a third of the time of a view was spent on them.
  if (chart.drawnOf !== null && looksTheSame(chart.drawnOf, state)) return chart;
  const now = heldBy(state);
  const goesOn = (open: Open) => now.some((held) => isSame(held, open));
  const ended = chart.open.filter((open) => !goesOn(open) && open.from !== state.at);
  const begun = now.filter((held) => !chart.open.some((open) => isSame(held, open)));
  const drawnOf = state;
  if (ended.length === 0 && begun.length === 0 && chart.open.every(goesOn)) return { ...chart, drawnOf };
  return {
    drawnOf,
    closed: [...chart.closed, ...ended.map((open) => barOf(open, state.at))].slice(-BARS_MAX),
    open: [...chart.open.filter(goesOn), ...begun.map((held) => ({ ...held, from: state.at }))],
  };
}

/** Whether bars of both are the same: a fold keeps each part that an event does not change. */
function looksTheSame(one: AuditedState, other: AuditedState): boolean {
  return (
    one.providers === other.providers &&
    one.record?.status === other.record?.status &&
    one.record?.pool === other.record?.pool &&
    one.record?.openQuestion?.originId === other.record?.openQuestion?.originId &&
    samePlacement(one.placement, other.placement)
  );
}

function samePlacement(one: Placement, other: Placement): boolean {
  if (one === other) return true;
  // Each event counts a version, and each decision about attempts says what request it is about.
  const { version: _version, request: _request, ...rest } = one;
  return Object.entries(rest).every(([part, value]) => Reflect.get(other, part) === value);
}

/** All bars, in the order in which they began. */
export function barsOf({ closed, open }: Chart): readonly BarView[] {
  const all = [...closed, ...open.map((bar) => barOf(bar, null))];
  return all.toSorted((one, other) => (one.from < other.from ? -1 : one.from > other.from ? 1 : 0));
}

function isSame(one: Held, other: Held): boolean {
  return one.key === other.key && one.label === other.label;
}

function barOf({ track, label, tone, from }: Open, to: string | null): BarView {
  return { track, label, tone, from, to };
}

function heldBy(state: AuditedState): readonly Held[] {
  return [...questionHeld(state), ...recordHeld(state), ...outcomeHeld(state), ...machinesHeld(state)];
}

function questionHeld({ record }: AuditedState): readonly Held[] {
  const question = record?.openQuestion ?? null;
  if (question === null) return [];
  const label = question.kind === 'pool' ? 'asked about the pool' : 'asked about the move';
  // A renewal gives the same question a new id.
  return [{ key: `question ${question.originId}`, track: 'questions', label, tone: 'asked' }];
}

function recordHeld({ record }: AuditedState): readonly Held[] {
  if (record === null) return [];
  const label = `${record.status}, ${record.pool}`;
  return [{ key: 'record', track: 'record', label, tone: RECORD_TONES[record.status] }];
}

function outcomeHeld({ placement }: AuditedState): readonly Held[] {
  const { outcome, verdict } = placement;
  if (outcome === null) return [];
  const reason = verdict?.reason ?? null;
  const label = reason === null ? outcome : `${outcome}: ${reason}`;
  return [{ key: 'placement', track: 'placement', label, tone: OUTCOME_TONES[outcome] }];
}

function machinesHeld({ placement, providers }: AuditedState): readonly Held[] {
  const current = currentInstance(placement);
  const ids = new Set([...(current === null ? [] : [current.id]), ...ownLeftovers(placement)]);
  const machines = [...ids].map((id): Held => {
    const status = providers[id]?.status ?? null;
    const tone = status === null ? 'moving' : (PROVIDER_TONES[status] ?? 'calm');
    return {
      key: `machine ${id}`,
      track: `lane ${laneOfMachine(placement, id)}`,
      label: `${id}: ${status ?? 'placed'}`,
      tone,
    };
  });
  const intent = openIntentOf(placement);
  if (intent === null) return machines;
  const label = `intent on ${intent.lane}`;
  return [...machines, { key: `intent ${intent.intent}`, track: 'intents', label, tone: 'moving' }];
}
