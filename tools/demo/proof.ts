import type { StoryLine } from '#domain/audit/timeline';
import { allocationStream } from '#events/streams';
import { Secret } from '#platform/secret';
import { type AuditLog, withAuditLog } from '../../apps/audit/src/audit-log.ts';
import type { Terminal } from '../../apps/audit/src/command-line/terminal.ts';
import { printReplay, printStory } from '../../apps/audit/src/print.ts';
import { printVerify } from '../../apps/audit/src/print-proof.ts';
import { replay } from '../../apps/audit/src/replay.ts';
import { type Story, timeline } from '../../apps/audit/src/timeline.ts';
import { verify } from '../../apps/audit/src/verify.ts';
import type { Stage } from './stage.ts';

/** Shows what the log has of the story about consent, as `spillway audit` does, and has the log prove itself. */
export async function proveStory(
  stage: Stage,
  terminal: Terminal,
  databaseUrl: string,
  ref: string,
): Promise<void> {
  await withAuditLog(new Secret(databaseUrl), async (log) => {
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
    await proveLog(stage, terminal, log);
  });
}

/** The same of the story about failover, whose launch stands at `position`. */
export async function proveFailover(
  stage: Stage,
  terminal: Terminal,
  databaseUrl: string,
  position: number,
): Promise<void> {
  await withAuditLog(new Secret(databaseUrl), async (log) => {
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
    await proveLog(stage, terminal, log);
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

const countIn = (story: Story | null) => (type: string) =>
  story?.lines.filter((line) => line.type === type).length;

async function proveLog(stage: Stage, terminal: Terminal, log: AuditLog): Promise<void> {
  stage.chapter('Can it be trusted?', 'spillway audit verify: the hash chain from the first position on.');
  terminal.line();
  const verified = await verify(log);
  printVerify(terminal, verified);
  stage.claim('no event was changed, removed or put in between', verified.ok, true);
  terminal.line();
  const replayed = await replay(log);
  printReplay(terminal, replayed);
  stage.claim('every decision and the table follow from the events alone', replayed.ok, true);
}
