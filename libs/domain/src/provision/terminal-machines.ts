import { instantMs } from '#events/instant';
import type { AlertKind } from '#events/watch.events';
import type { IntentState } from '../intent/intent-state.ts';
import { isGone, type Placement } from '../placement.ts';

/** Alerts about a machine of ours that stands beside the one that is wanted. */
const OF_OWN_MACHINES: readonly AlertKind[] = [
  'residue_unresolved',
  'kept_pod_billing',
  'keep_mark_blocks',
  'two_workloads',
  'failed_machine_up',
  'terminal_pod_unreachable',
];

/**
 * Everything of this allocation that may bill on a terminal lane now, each by its own name (failover 5.9, 12.2): the
 * instance, what was kept for a person, what is left of attempts that were cut off, and what a restored log has
 * forgotten, until it is seen gone; and creates whose machine may stand although the log does not know it, by their
 * intent. Where an attempt was given up without a look, its create counts as long as it was sent after
 * `unknownSince`: a pass ends what came of it.
 */
export function terminalMachines(state: Placement, unknownSince: string): ReadonlySet<string> {
  const terminal = state.intents.filter(({ entry }) => entry.kind === 'terminal');
  const placed = Object.values(state.instances).filter(({ kind }) => kind === 'terminal');
  const lanes = new Set(
    [...terminal, ...placed, state.launch?.plan.terminal ?? []].flat().map(({ lane }) => lane),
  );
  const known = [
    ...placed.map(({ id }) => id),
    ...terminal.flatMap(({ instance, reaping }) => [instance, reaping].filter((id) => id !== null)),
    ...state.alerts.flatMap(({ alert, subject, lane }) =>
      OF_OWN_MACHINES.includes(alert) && lane !== null && lanes.has(lane) ? [subject] : [],
    ),
    ...(state.rewound !== null && lanes.has(state.rewound.lane) ? [state.rewound.instance] : []),
    ...Object.entries(state.cancelsOwed).flatMap(([id, lane]) => (lanes.has(lane) ? [id] : [])),
  ];
  const over = new Set([...state.cancelled, ...terminal.flatMap(({ reaped }) => reaped)]);
  const standing = known.filter((id) => !isGone(state, id) && !over.has(id));
  const unseen = terminal.filter((intent) => mayHaveMade(intent, unknownSince));
  return new Set([...standing, ...unseen.map(({ intent }) => intent)]);
}

/** Whether a machine may stand that no fact of this intent names. */
function mayHaveMade(intent: IntentState, unknownSince: string): boolean {
  const { instance, unknownSends, sendNotAfter, closed } = intent;
  if (instance !== null || unknownSends === 0) return false;
  switch (closed) {
    case null:
      return true;
    // A look has shown that there is none, or the one that there is has its own fact.
    case 'replaced':
    case 'missed':
    case 'refused':
    case 'placed':
    case 'completed':
      return false;
    case 'voided':
    case 'blocked':
      return sendNotAfter !== null && instantMs(sendNotAfter) > instantMs(unknownSince);
  }
}
