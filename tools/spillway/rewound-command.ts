import type { Command } from 'commander';
import { LOCAL_SUBJECT } from '#domain/actor';
import type { Standing } from '#domain/fact';
import { acceptPool, releasePool } from '#domain/provision/delivered-pool';
import {
  adoptRewound,
  type MachineAnswer,
  type RewoundRefusal,
  releaseRewound,
} from '#domain/provision/rewound';
import { StreamFinder } from '#event-log/find-stream';
import type { PostgresLog } from '#event-log/postgres-log';
import { allocationStream } from '#events/streams';
import { systemClock } from '#platform/clock';
import { refArgument } from '../../apps/audit/src/command-line/ref-argument.ts';
import { EXIT, UsageError } from '../../apps/audit/src/command-line/run-program.ts';
import { Settings } from '../../apps/audit/src/command-line/settings.ts';
import { type Terminal, visible } from '../../apps/audit/src/command-line/terminal.ts';
import { type AdminOptions, database, withAdminLog } from './admin-log.ts';
import { type Settled, settleRewound } from './settle-rewound.ts';

interface RewoundOptions extends AdminOptions {
  readonly name?: string;
  readonly instance?: string;
  readonly rung?: string;
}

/** Adds what a person says about a machine that holds its allocation (failover 5.8, 10.3). */
export function addRewoundTools(admin: Command, terminal: Terminal): void {
  allocation(admin.command('adopt'))
    .description(
      'Makes the machine that proved a restored backup the instance of its allocation. Nothing is sent to it: ' +
        'look first that it does the work. A move, walk or question that is under way ends.',
    )
    .option('--rung <id>', 'the rung that it was made for, where the plan has several on its lane')
    .action((ref: string | undefined, options: RewoundOptions) => adopt(terminal, ref, options));

  allocation(admin.command('accept-pool'))
    .description(
      'Takes a machine that came in another pool than was agreed to as the instance of its allocation. Nothing ' +
        'is sent to it.',
    )
    .action((ref: string | undefined, options: RewoundOptions) => accept(terminal, ref, options));

  allocation(admin.command('release'))
    .description(
      'Lets an allocation go on that a machine holds up: one that proved a restored backup, or one that came in ' +
        'another pool than was agreed to. End that machine first: Spillway never touches it. Of a restored ' +
        'backup another one may be bought at once; in the other case the allocation is blocked.',
    )
    .action((ref: string | undefined, options: RewoundOptions) => release(terminal, ref, options));
}

function allocation(command: Command): Command {
  return database(command)
    .argument('[ref]', 'ref of the allocation, 64 hex digits', refArgument)
    .option('--name <name>', 'logical name instead of the ref; every key of the ring is tried')
    .option('--instance <id>', 'the machine that is meant; refused when another one holds the allocation');
}

async function adopt(terminal: Terminal, ref: string | undefined, options: RewoundOptions): Promise<void> {
  const settings = new Settings(options);
  const deployment = settings.deployment();
  const { instance = null, rung = null } = options;
  const settled = await settle(settings, ref, options, (standing, stream) =>
    adoptRewound(standing, { instance, rung, deployment, stream, by: LOCAL_SUBJECT }),
  );
  if (settled.kind === 'refused') {
    refuse(terminal, settled);
    return;
  }
  terminal.line(isTheInstance(settled));
}

function isTheInstance({ machine, position }: Extract<Settled, { kind: 'recorded' }>): string {
  return `${visible(machine.instance)} on lane ${machine.lane} is the instance of this allocation from position ${position} on.`;
}

async function accept(terminal: Terminal, ref: string | undefined, options: RewoundOptions): Promise<void> {
  const { instance = null } = options;
  const settled = await settle(new Settings(options), ref, options, ({ placement }) =>
    acceptPool(placement, { instance, by: LOCAL_SUBJECT }),
  );
  if (settled.kind === 'refused') {
    refuse(terminal, settled);
    return;
  }
  terminal.line(isTheInstance(settled));
}

/** Of the two kinds of machine that can hold an allocation a rewound log's comes first: nothing is bought then. */
async function release(terminal: Terminal, ref: string | undefined, options: RewoundOptions): Promise<void> {
  const { instance = null } = options;
  const settled = await settle(new Settings(options), ref, options, ({ placement }) => {
    const word = { instance, by: LOCAL_SUBJECT };
    const isDelivered = placement.rewound === null && placement.poolDiffers !== null;
    return isDelivered ? releasePool(placement, word) : releaseRewound(placement, word);
  });
  if (settled.kind === 'refused') {
    refuse(terminal, settled);
    return;
  }
  const { machine, position, facts } = settled;
  const isBlocked = facts.some(({ type }) => type === 'AllocationBlocked');
  const now = isBlocked ? 'it is blocked, and its owner may launch it again' : 'creates go on within seconds';
  terminal.line(
    `${visible(machine.instance)} on lane ${machine.lane} holds this allocation no more (position ${position}): ${now}.`,
  );
}

function settle(
  settings: Settings,
  ref: string | undefined,
  { name }: RewoundOptions,
  decide: (standing: Standing, stream: string) => MachineAnswer,
): Promise<Settled> {
  if ((ref === undefined) === (name === undefined)) {
    throw new UsageError('give either the ref of the allocation or --name');
  }
  return withAdminLog(settings, async (log) => {
    const stream = ref === undefined ? await streamOf(log, settings, name ?? '') : allocationStream(ref);
    // A slip of the pen must not look like "nothing to do".
    if ((await log.decisionVersion(stream)) === null) {
      throw new UsageError(`the log has no allocation of this ${ref === undefined ? 'name' : 'ref'}`);
    }
    return settleRewound(log, {
      stream,
      at: systemClock.now(),
      decide: (standing) => decide(standing, stream),
    });
  });
}

async function streamOf(log: PostgresLog, settings: Settings, name: string): Promise<string> {
  return (await new StreamFinder(settings.keyRing(), log).find(name.trim())).stream;
}

function refuse(terminal: Terminal, { why, machine }: Extract<Settled, { kind: 'refused' }>): void {
  const which =
    machine === null ? '' : ` It is held by ${visible(machine.instance)} on lane ${machine.lane}.`;
  const { sentence, is } = REFUSALS[why];
  if (is === 'wrong_call') throw new UsageError(`${sentence}${which}`);
  if (is === 'finding') process.exitCode = EXIT.finding;
  terminal.line(`${sentence}${which}`);
}

interface Refusal {
  readonly is: 'nothing_to_do' | 'wrong_call' | 'finding';
  readonly sentence: string;
}

const REFUSALS: Readonly<Record<RewoundRefusal, Refusal>> = {
  nothing_rewound: {
    is: 'nothing_to_do',
    sentence: 'No machine of a rewound log holds this allocation: nothing to do.',
  },
  nothing_delivered: {
    is: 'nothing_to_do',
    sentence: 'No machine in another pool than was agreed to holds this allocation: nothing to do.',
  },
  other_instance: { is: 'wrong_call', sentence: 'another machine is meant than the one that holds it.' },
  several_rungs: { is: 'wrong_call', sentence: 'its lane has several rungs: say which one by --rung.' },
  other_rung: { is: 'wrong_call', sentence: 'the plan has no such rung on its lane.' },
  no_launch: {
    is: 'finding',
    sentence: 'The log knows no launch that the machine could belong to: end it, then release.',
  },
  lane_not_in_plan: {
    is: 'finding',
    sentence: 'The newest launch that the log knows does not use its lane: end it, then release.',
  },
  other_dispatch_open: {
    is: 'finding',
    sentence:
      'A workload may have been started on another machine already: wait until that is settled, or end one and release.',
  },
};
