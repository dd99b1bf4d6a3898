import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { allocationStream } from '#events/streams';
import { systemClock } from '#platform/clock';
import type { FilledLog } from '#support/filled-log';
import { timeline } from '../../apps/audit/src/timeline.ts';
import { allocationList } from '../../apps/audit/src/views/allocation-list.ts';
import { allocationView } from '../../apps/audit/src/views/allocation-view.ts';
import { stateAsOf } from '../../apps/audit/src/views/as-of.ts';
import { Overviews } from '../../apps/audit/src/views/overview-view.ts';
import { projectRoot } from '../up/infra/environment.ts';
import { openBenchLog } from './connections.ts';
import { median } from './measure.ts';

/** One question to the log and how long its answer took, in milliseconds: the first time, and the median of some. */
export interface ReadFigure {
  readonly what: string;
  readonly firstMs: number;
  readonly medianMs: number;
}

/** One run of the command line over the whole log. */
export interface PassFigure {
  readonly what: string;
  readonly seconds: number;
  readonly maxRssMb: number;
  readonly code: number | null;
}

const ROUNDS = 5;

/** Asks everything that a person waits for, under the role of the audit. Rejects when an answer is empty. */
export async function benchReads(databaseUrl: string, filled: FilledLog): Promise<readonly ReadFigure[]> {
  const log = await openBenchLog(databaseUrl, 'spillway_audit');
  try {
    const head = (await log.head()).pos;
    const middle = await log.at(Math.floor(head / 2));
    const time = middle?.recordedAt ?? '';
    const long = allocationStream(filled.long.ref);
    const ordinary = allocationStream(filled.ordinary);
    const list = (search: object) => allocationList(log, { limit: 50, refPrefix: null, ...search });
    const view = (stream: string) =>
      allocationView(log, stream, { limit: 500, at: systemClock.now(), unsealer: null });
    const questions: Readonly<Record<string, () => Promise<unknown>>> = {
      'overview, made anew': () => new Overviews(log, systemClock).get(),
      'state --as-of POS, ordinary story': () => stateAsOf(log, ordinary, { pos: head }),
      'state --as-of TIME, long story': () => stateAsOf(log, long, { time: systemClock.now() }),
      'timeline, ordinary story': () => timeline(log, ordinary),
      'timeline, long story, newest 500': () => timeline(log, long, null, { limit: 500 }),
      'allocation view, ordinary story': () => view(ordinary),
      'allocation view, long story, newest 500': () => view(long),
      'list, newest': () => list({}),
      'list, awaiting-consent': () => list({ status: 'awaiting-consent' }),
      'list, a status that none has': () => list({ status: 'declined' }),
      'list, done': () => list({ outcome: 'done' }),
      'list, bills': () => list({ bills: true }),
      'list, alerts': () => list({ alerts: true }),
      'list, lane': () => list({ lane: 'gcp' }),
      'list, a lane that none has': () => list({ lane: 'nowhere' }),
      'list, a reason that none has': () => list({ reason: 'nothing' }),
      'list, until the middle': () => list({ until: { time } }),
      'list, ref prefix': () => list({ refPrefix: filled.ordinary.slice(0, 8) }),
    };
    const figures: ReadFigure[] = [];
    for (const [what, ask] of Object.entries(questions)) figures.push(await asked(what, ask));
    return figures;
  } finally {
    await log.close();
  }
}

async function asked(what: string, ask: () => Promise<unknown>): Promise<ReadFigure> {
  const took: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const beganMs = performance.now();
    if ((await ask()) === null) throw new Error(`${what}: there is no answer`);
    took.push(performance.now() - beganMs);
  }
  return { what, firstMs: took[0] ?? 0, medianMs: median(took) };
}

/** Runs `spillway audit ...` over the whole log as a process of its own, and reads its greatest memory. */
export async function benchPass(databaseUrl: string, args: readonly string[]): Promise<PassFigure> {
  const beganMs = performance.now();
  const bin = join(projectRoot(), 'bin', 'spillway.js');
  const child = spawn(process.execPath, ['--import', TELL_MEMORY, bin, 'audit', ...args, '--json'], {
    env: { PATH: process.env.PATH ?? '', SPILLWAY_DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [, kilobytes] = /max-rss-kb (\d+)/.exec(said) ?? [];
  if (kilobytes === undefined) throw new Error(`audit ${args.join(' ')}: ${said}`);
  const seconds = (performance.now() - beganMs) / 1_000;
  return { what: `audit ${args.join(' ')}`, seconds, maxRssMb: Number(kilobytes) / 1_024, code };
}

const TELL_MEMORY = `data:text/javascript,${encodeURIComponent(
  'process.on("exit",()=>process.stderr.write("max-rss-kb "+process.resourceUsage().maxRSS))',
)}`;
