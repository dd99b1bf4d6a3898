import type { AllocationList, StateView } from '#domain/audit/views';
import { type Terminal, visible } from './command-line/terminal.ts';

const NONE = '-';
const GONE = '(gone)';

/** One state as lines of member and value. */
export function printState(terminal: Terminal, state: StateView | null): void {
  if (state === null) {
    terminal.line('Nothing was recorded of it by then.');
    return;
  }
  const { record, placement, unreadable } = state;
  const { bold, red } = terminal.colours;
  if (unreadable !== null) {
    terminal.line(
      `${red('unreadable')}  The event at position ${unreadable.pos} cannot be read here (${visible(unreadable.why)}): what follows it is not in this state.`,
    );
    if (state.pos === 0) return;
  }
  terminal.line(`After position ${bold(String(state.pos))}, recorded ${state.at}`);
  terminal.line();
  terminal.table(
    ['', ''],
    [
      ...rowsOf('record', record),
      ...(placement === null ? [['placement', 'none']] : placementRows(placement)),
    ],
  );
}

function placementRows(placement: NonNullable<StateView['placement']>): readonly string[][] {
  const { outcome, reason, rule, openIntent, instance, provider, bills } = placement;
  return [
    ...rowsOf('placement', { outcome, reason, rule, openIntent }),
    ...(instance === null ? [['instance', NONE]] : rowsOf('instance', instance)),
    ['provider said', provider === null ? NONE : `${visible(provider.status)} at ${provider.observedAt}`],
    ...bills.map(({ instance: billing, lane, sinceAt, costPerHourUsd, costSoFarUsd }) => [
      'bills',
      `${visible(billing)} on ${visible(lane)} since ${sinceAt}, ${dollars(costPerHourUsd)} an hour, ${dollars(costSoFarUsd)} so far`,
    ]),
    ...(bills.length === 0 ? [['bills', 'nothing']] : []),
  ];
}

function rowsOf(
  what: string,
  members: Readonly<Record<string, string | number | null>> | null,
): readonly string[][] {
  if (members === null) return [[what, 'none']];
  return Object.entries(members).map(([name, value]) => [
    `${what} ${name}`,
    value === null ? NONE : visible(String(value)),
  ]);
}

function dollars(amount: number | null): string {
  return amount === null ? 'at an unknown price' : `$${amount}`;
}

/** A row an allocation; refs are whole, so that they can be given to the other tools. */
export function printList(terminal: Terminal, { rows, next }: AllocationList): void {
  if (rows.length === 0) {
    terminal.line('No allocation is as asked.');
    return;
  }
  const named = rows.some(({ name }) => name !== undefined);
  terminal.table(
    [
      'position',
      'changed',
      'status',
      'outcome',
      'reason',
      'lane',
      'bills',
      'ref',
      ...(named ? ['name'] : []),
    ],
    rows.map((row) => [
      String(row.pos),
      row.at,
      row.status ?? NONE,
      row.outcome ?? (row.status === 'consented' ? 'not launched, may use preemptible' : NONE),
      visible(row.reason ?? NONE),
      visible(row.lane ?? NONE),
      row.bills ? 'yes' : 'no',
      row.ref,
      ...(named ? [row.name === null || row.name === undefined ? GONE : visible(row.name)] : []),
    ]),
  );
  if (next !== null) terminal.line(`There are more: --until ${Number(next) - 1} goes on.`);
}
