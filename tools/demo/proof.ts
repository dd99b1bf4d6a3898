import { allocationStream } from '#events/streams';
import { Secret } from '#platform/secret';
import { withAuditLog } from '../../apps/audit/src/audit-log.ts';
import type { Terminal } from '../../apps/audit/src/command-line/terminal.ts';
import { printReplay, printStory, printVerify } from '../../apps/audit/src/print.ts';
import { replay } from '../../apps/audit/src/replay.ts';
import { timeline } from '../../apps/audit/src/timeline.ts';
import { verify } from '../../apps/audit/src/verify.ts';
import type { Stage } from './stage.ts';

/** Shows what the log has of the story, as `spillway audit` does, and has the log prove itself. */
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
    terminal.line();
    const story = await timeline(log, allocationStream(ref));
    if (story !== null) printStory(terminal, story);
    stage.claim(
      'all five attempts and both questions are in the log',
      ['AttemptReported', 'FallbackPrompted', 'ConsentDeclined'].map(
        (type) => story?.lines.filter((line) => line.type === type).length,
      ),
      [5, 2, 1],
    );

    stage.chapter('Can it be trusted?', 'spillway audit verify: the hash chain from the first position on.');
    terminal.line();
    const verified = await verify(log);
    printVerify(terminal, verified);
    stage.claim('no event was changed, removed or put in between', verified.ok, true);
    terminal.line();
    const replayed = await replay(log);
    printReplay(terminal, replayed);
    stage.claim('every decision and the table follow from the events alone', replayed.ok, true);
  });
}
