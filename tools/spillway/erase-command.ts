import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { LOCAL_SUBJECT } from '#domain/actor';
import { shortened } from '#domain/audit/told';
import { refOfStream } from '#events/streams';
import { systemClock } from '#platform/clock';
import { streamOf } from '../../apps/audit/src/command-line/log-options.ts';
import { refArgument } from '../../apps/audit/src/command-line/ref-argument.ts';
import { UsageError } from '../../apps/audit/src/command-line/run-program.ts';
import { Settings } from '../../apps/audit/src/command-line/settings.ts';
import type { Terminal } from '../../apps/audit/src/command-line/terminal.ts';
import { counted } from '../../apps/audit/src/print.ts';
import { type AdminOptions, database, withAdminLog } from './admin-log.ts';
import { eraseAllocation } from './erase-allocation.ts';

interface EraseOptions extends AdminOptions {
  readonly allocation?: string;
  readonly name?: string;
  readonly yes?: boolean;
}

/** Adds the erasure of an allocation: what cannot be undone asks once more (fallback 7). */
export function addEraseTool(admin: Command, terminal: Terminal): void {
  database(admin.command('erase'))
    .description(
      'Destroys the key of an allocation: its name, its request, its workload and what was reported of its failures ' +
        'can never be read again. The log stays as it is and verifies; an open question is withdrawn. What is ' +
        'reported under the same name later is sealed anew. Finishes an erasure that was cut off.',
    )
    .argument('[ref]', 'ref of the allocation, 64 hex digits', refArgument)
    .option('--allocation <ref>', 'the same as an option', refArgument)
    .option('--name <name>', 'logical name instead of the ref; every key of the ring is tried')
    .option('--yes', 'do not ask once more')
    .action((ref: string | undefined, options: EraseOptions) => erase(terminal, ref, options));
}

async function erase(terminal: Terminal, given: string | undefined, options: EraseOptions): Promise<void> {
  const { allocation, name } = options;
  if ([given, allocation, name].filter((each) => each !== undefined).length !== 1) {
    throw new UsageError('give either the ref of the allocation or --name');
  }
  const ref = given ?? allocation;
  const settings = new Settings(options);
  await withAdminLog(settings, async (log) => {
    const stream = await streamOf(log, settings, ref, name);
    // A slip of the pen must not look like "erased".
    if ((await log.decisionVersion(stream)) === null) {
      throw new UsageError(`the log has no allocation of this ${ref === undefined ? 'name' : 'ref'}`);
    }
    if (options.yes !== true && !(await isMeant(refOfStream(stream) ?? stream))) {
      terminal.line('Nothing was erased.');
      return;
    }
    const erased = await eraseAllocation(log, { stream, at: systemClock.now(), requestedBy: LOCAL_SUBJECT });
    for (const line of linesOf(erased)) terminal.line(line);
  });
}

/** Asks on the terminal; where nobody can be asked the call must say so itself. */
async function isMeant(ref: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UsageError('what is erased is gone for good: add --yes to say that it is meant');
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const typed = await asking.question(
      `The name and every text of allocation ${shortened(ref)} will be gone for good. Type its first 8 digits to go on: `,
    );
    return typed.trim() === ref.slice(0, CONFIRMING_DIGITS);
  } finally {
    asking.close();
  }
}

const CONFIRMING_DIGITS = 8;

function linesOf(erased: Awaited<ReturnType<typeof eraseAllocation>>): readonly string[] {
  if (erased.kind === 'erased_already') {
    return [`It was erased at position ${erased.position}, and nothing was reported since: nothing to do.`];
  }
  const { destroyed, position, withdrew, finishes, reportedMeanwhile } = erased;
  return [
    `Erased: ${counted(destroyed.keys, 'key')} and ${counted(destroyed.texts, 'sealed text')} are destroyed (position ${position}).`,
    ...(finishes ? ['An earlier erasure had been cut off: it is finished now.'] : []),
    ...(withdrew === null
      ? []
      : [`Question ${shortened(withdrew)} was open: it is withdrawn, and its token is dead.`]),
    ...(reportedMeanwhile
      ? [
          'The same name was reported meanwhile: what was sealed since then is there. Run it again to erase that too.',
        ]
      : []),
  ];
}
