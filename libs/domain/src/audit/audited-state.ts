import type { KnownEvent } from '#events/catalogue';
import type { Scalars } from '#events/scalars';
import type { AlertKind } from '#events/watch.events';
import { isAllocationDecision } from '../allocation.ts';
import { NOT_PLACED, type Placement } from '../placement.ts';
import { evolveRecordedPlacement } from '../placement-fold.ts';

/** What a provider said of an instance, by the newest poll that the log keeps. */
export interface ProviderSaid {
  readonly status: string;
  readonly observedAt: string;
}

/** An alert that was raised, with the place where the log says so. */
export interface RaisedAlert {
  readonly alert: AlertKind;
  readonly subject: string;
  readonly at: string;
  readonly pos: number;
}

/** An allocation as its events up to one of them left it: what an auditor is shown of it. */
export interface AuditedState {
  /** The last event that was folded; 0 before the first. */
  readonly pos: number;
  /** When the log recorded it; '' before the first. */
  readonly at: string;
  /** The record as the newest decision about it says; null = nothing was decided about attempts. */
  readonly record: Scalars | null;
  readonly placement: Placement;
  /** By instance. Polls that changed nothing are not in the log and so not here (failover 3.8). */
  readonly providers: Readonly<Record<string, ProviderSaid>>;
  /** When the log first learnt of an instance of ours. */
  readonly firstSeen: Readonly<Record<string, string>>;
  /** Where the log says that an open alert was raised, by event id. */
  readonly raised: Readonly<Record<string, Pick<RaisedAlert, 'at' | 'pos'>>>;
  /** The name and the texts were destroyed, and nothing was reported since. */
  readonly erased: boolean;
}

/** Before the first event. */
export const NOTHING_RECORDED: AuditedState = {
  pos: 0,
  at: '',
  record: null,
  placement: NOT_PLACED,
  providers: {},
  firstSeen: {},
  raised: {},
  erased: false,
};

/**
 * Folds one recorded event of the allocation's stream. The record is what the decision itself carries: whether it
 * follows from the events before is what `replay` proves.
 */
export function evolveAudited(before: AuditedState, event: KnownEvent): AuditedState {
  const { pos, recordedAt } = event.row;
  const state = {
    ...before,
    pos,
    at: recordedAt,
    record: isAllocationDecision(event) ? event.data.after : before.record,
    placement: evolveRecordedPlacement(before.placement, event),
  };
  switch (event.type) {
    case 'AttemptReported':
    case 'LaunchRequested':
      return before.erased ? { ...state, erased: false } : state;
    case 'AllocationErased':
      return { ...state, erased: true };
    case 'ObservationReported': {
      const { instance, provider, observedAt } = event.data.observation;
      // A caller may name any instance; only ours are shown.
      if (!Object.hasOwn(before.firstSeen, instance)) return state;
      const known = before.providers[instance];
      // A poll may arrive late: what was seen later stays.
      if (known !== undefined && known.observedAt > observedAt) return state;
      return { ...state, providers: { ...state.providers, [instance]: { status: provider, observedAt } } };
    }
    case 'InstanceCreated':
    case 'InstanceAdopted':
    case 'LateInstanceSeen':
    case 'InstancePlaced':
    case 'RewoundAdopted':
    case 'FailoverCompleted': {
      const { instance } = event.data;
      if (Object.hasOwn(before.firstSeen, instance)) return state;
      return { ...state, firstSeen: { ...state.firstSeen, [instance]: recordedAt } };
    }
    case 'AlertRaised': {
      // Only those that are still open: a long story raises many.
      const open = new Set(before.placement.alerts.map(({ eventId }) => eventId));
      const kept = Object.entries(before.raised).filter(([eventId]) => open.has(eventId));
      return {
        ...state,
        raised: { ...Object.fromEntries(kept), [event.row.eventId]: { at: recordedAt, pos } },
      };
    }
    default:
      return state;
  }
}

/** The alerts that were raised and have not ended, with the place where they were raised last (failover 13). */
export function openAlertsOf({ placement, raised, at, pos }: AuditedState): readonly RaisedAlert[] {
  return placement.alerts.map(({ alert, subject, eventId }) => ({
    alert,
    subject,
    ...(raised[eventId] ?? { at, pos }),
  }));
}
