import type { StoryLine } from '#domain/audit/timeline';
import { readCheckpointLines } from '#event-log/checkpoint-lines';
import { allocationStream } from '#events/streams';
import { Secret } from '#platform/secret';
import { type AuditLog, withAuditLog } from '../../apps/audit/src/audit-log.ts';
import { checkpointKeysAtHand } from '../../apps/audit/src/command-line/settings.ts';
import type { Terminal } from '../../apps/audit/src/command-line/terminal.ts';
import { type OwnProof, ownProof } from '../../apps/audit/src/own-proof.ts';
import { printReplay, printStory } from '../../apps/audit/src/print.ts';
import { printVerify } from '../../apps/audit/src/print-proof.ts';
import { replay } from '../../apps/audit/src/replay.ts';
import { type Story, timeline } from '../../apps/audit/src/timeline.ts';
import { verify } from '../../apps/audit/src/verify.ts';
import { waitUntil } from '../up/infra/chain.ts';
import type { Instance } from '../up/instance.ts';
import type { Stage } from './stage.ts';

/** Where the log is, and what is signed of it. */
export interface Proven {
  readonly databaseUrl: string;
  /** Null, or without its files: an instance of an older build, which signs nothing. */
  readonly signed: Pick<Instance, 'checkpointsFile' | 'checkpointKeysFile'> | null;
}

/** In which a new log is signed for the first time. */
const SIGNED_BOUND_MS = 60_000;

/** Shows what the log has of the story about consent, as `spillway audit` does, and has the log prove itself. */
export async function proveStory(
  stage: Stage,
  terminal: Terminal,
  proven: Proven,
  ref: string,
): Promise<void> {
  await withAuditLog(new Secret(proven.databaseUrl), async (log) => {
    stage.chapter(
      'What the log says about the no',
      'spillway audit timeline: every attempt, decision, question and answer, with digests instead of texts.',
    );
    const story = await showStory(terminal, log, allocationStream(ref));
    const count = countIn(story);
    stage.claim(
      'all five attempts and both questions are in the log',
      ['AttemptReported', 'FallbackPrompted', 'ConsentDeclined'].map(count),
      [5, 2, 1],
    );
    await proveLog(stage, terminal, log, proven);
  });
}

/** The same of the story about failover, whose launch stands at `position`. */
export async function proveFailover(
  stage: Stage,
  terminal: Terminal,
  proven: Proven,
  position: number,
): Promise<void> {
  await withAuditLog(new Secret(proven.databaseUrl), async (log) => {
    stage.chapter(
      'What the log says',
      'spillway audit timeline: what was promised, sent and seen, each before or after the call that it is about.',
    );
    const launch = await log.at(position);
    const story = launch === null ? null : await showStory(terminal, log, launch.stream, reasonsOfTheMove);
    stage.claim(
      'one move was decided and one was completed',
      ['FailoverDecided', 'FailoverCompleted'].map(countIn(story)),
      [1, 1],
    );
    await proveLog(stage, terminal, log, proven);
  });
}

/** Types of the events of the allocation of which an event stands at `position`. */
export function recordedOf(databaseUrl: string, position: number): Promise<readonly string[]> {
  return withAuditLog(new Secret(databaseUrl), async (log) => {
    const first = await log.at(position);
    const story = first === null ? null : await timeline(log, first.stream);
    return story?.lines.map(({ type }) => type) ?? [];
  });
}

/** All reasons of the decision that the story is about; of the others the rule. */
function reasonsOfTheMove(line: StoryLine): StoryLine {
  if (line.type === 'FailoverDecided') return line;
  return { ...line, because: line.because.filter(({ code }) => code.startsWith('rule:')) };
}

async function showStory(
  terminal: Terminal,
  log: AuditLog,
  stream: string,
  shown = (line: StoryLine) => line,
): Promise<Story | null> {
  terminal.line();
  const story = await timeline(log, stream);
  if (story !== null) printStory(terminal, { ...story, lines: story.lines.map(shown) });
  return story;
}

async function signedOf(signed: Proven['signed']): Promise<OwnProof | null> {
  const { checkpointsFile, checkpointKeysFile } = signed ?? {};
  if (checkpointsFile === undefined || checkpointKeysFile === undefined) return null;
  const keys = checkpointKeysAtHand({ env: { SPILLWAY_CHECKPOINT_KEYS_FILE: checkpointKeysFile } });
  const read = () => ownProof(checkpointsFile, keys);
  await waitUntil('the log is signed', SIGNED_BOUND_MS, () => read() !== null);
  return read();
}

const countIn = (story: Story | null) => (type: string) =>
  story?.lines.filter((line) => line.type === type).length;

async function proveLog(stage: Stage, terminal: Terminal, log: AuditLog, { signed }: Proven): Promise<void> {
  stage.chapter(
    'Can it be trusted?',
    'spillway audit verify: the hash chain from the first position on, and what was signed of it.',
  );
  terminal.line();
  const proof = await signedOf(signed);
  const verified = await verify(
    log,
    proof === null ? {} : { checkpoints: readCheckpointLines(proof.text, proof.keys, await log.logId()) },
  );
  printVerify(terminal, verified);
  stage.claim('no event was changed, removed or put in between', verified.ok, true);
  if (proof !== null) {
    stage.claim('a process that may not write the log has signed it', (verified.signed?.upTo ?? 0) > 0, true);
  }
  terminal.line();
  const replayed = await replay(log);
  printReplay(terminal, replayed);
  stage.claim('every decision and the table follow from the events alone', replayed.ok, true);
}
