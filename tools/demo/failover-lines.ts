import { visible } from '../../apps/audit/src/command-line/terminal.ts';
import type { LedgerReport } from '../../test/cloud/ledger-report.ts';
import type { LaunchResult, LaunchTaken, ObservationAnswer } from './calls.ts';
import type { SentLaunch, SentObservation } from './failover-bodies.ts';
import { COLUMNS, type Colours, cut, wrapped } from './lines.ts';

const SENT = '  → ';
const GOT = '  ← ';
const WORLD = '  ◆ ';
const TEXT = ' '.repeat(GOT.length);
const NAME_WIDTH = 14;
/** Facts of a decision that the lines around it show. */
const SHOWN_ELSEWHERE = ['instance', 'lane', 'observedAt'];

/** Of an id that is a path, its last part: the rest repeats the name, and would fill every line. */
export function brief(text: string): string {
  return text.replaceAll(/[\w-]+\/sw-[a-z0-9-]+\/(\d+)/g, '…/$1');
}

/** A launch in a line and a half: the ladder, what comes after it, and what the owner agreed to. */
export function sentLaunchLines({ plan, failover }: SentLaunch, colours: Colours): readonly string[] {
  const rungs = plan.rungs.map(({ id, lane, pool }) => `${id} (${lane}, ${pool})`).join(', then ');
  const last = plan.terminal == null ? 'no last resort' : `last resort ${plan.terminal.lane}, paid`;
  return [
    `${colours.cyan(SENT)}${'launch'.padEnd(NAME_WIDTH)}${rungs}`,
    `${TEXT}${' '.repeat(NAME_WIDTH)}${last}; failover: ${failover}`,
  ];
}

export function sentObservationLine(sent: SentObservation, colours: Colours): string {
  const what = `${brief(visible(sent.instance))} is ${sent.provider}`;
  return `${colours.cyan(SENT)}${cut('observation'.padEnd(NAME_WIDTH) + what, COLUMNS - SENT.length)}`;
}

export function takenLine({ position }: LaunchTaken, colours: Colours): string {
  return `${colours.cyan(GOT)}${colours.bold('202')}  taken at position ${position}; the result will be at its location`;
}

/** A decision: outcome, reason, the rule with the facts that it used, and the instance if there is one. */
export function decisionLines(answer: LaunchResult | ObservationAnswer, colours: Colours): readonly string[] {
  const { outcome, reason, rule, evidence } = answer;
  const facts = Object.entries(evidence)
    .filter(([name, value]) => value !== null && !SHOWN_ELSEWHERE.includes(name))
    .map(([name, value]) => `${name} ${brief(visible(String(value)))}`);
  const instance = 'instance' in answer ? answer.instance : undefined;
  return [
    `${colours.cyan(GOT)}${colours.bold(outcome)}${reason === null ? '' : `  ${colours.yellow(reason)}`}`,
    ...wrapped([`rule ${rule}`, ...facts].join(', '), TEXT).map((line) => colours.dim(line)),
    ...(instance === undefined
      ? []
      : [`${TEXT}instance ${brief(visible(instance.id))} on lane ${instance.lane}`]),
  ];
}

/** What happens outside of Spillway: nobody tells it. */
export function worldLines(text: string, colours: Colours): readonly string[] {
  const [first = '', ...rest] = wrapped(text, TEXT);
  return ['', colours.yellow(WORLD) + first.slice(TEXT.length), ...rest];
}

/** What the cloud's own books say: each machine, whose it is, and what it costs. */
export function ledgerLines(
  { instances, starts }: LedgerReport,
  isOurs: (instance: LedgerReport['instances'][number]) => boolean,
  colours: Colours,
): readonly string[] {
  const rows = instances.map((instance) => {
    const { lane, id, state, billedS, costUsd } = instance;
    const ran = starts.filter((start) => start.instance === id).length;
    const whose = isOurs(instance) ? 'Spillway' : 'a person';
    const cost = billedS === 0 ? 'never billed' : `${Math.round(billedS)} s, $${costUsd.toFixed(3)}`;
    const began = `${ran} workload start${ran === 1 ? '' : 's'}`;
    return [lane.padEnd(8), id.padEnd(20), state.padEnd(9), whose.padEnd(9), cost.padEnd(16), began].join(
      '  ',
    );
  });
  return [colours.dim(`${TEXT}the cloud's own books`), ...rows.map((row) => `${TEXT}${row.trimEnd()}`)];
}
