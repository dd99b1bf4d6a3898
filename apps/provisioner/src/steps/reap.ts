import { alertOnce } from '#domain/intent/blocked';
import type { IntentState } from '#domain/intent/intent-state';
import type { Lane, LaneFailureKind, TerminateAnswer } from '#domain/provision/lane';
import { reapsOf } from '#domain/provision/reap';
import { graceEnd } from '#domain/provision/resolve';
import { instantMs } from '#events/instant';
import { send, terminating } from '../effects.ts';
import type { AllocationRun, Progress } from '../run.ts';
import { isTooLate } from './send-limit.ts';

/** How often a machine whose end was accepted is looked at before it counts as not ended. */
const GONE_LOOKS = 10;
const GONE_LOOK_MS = 3_000;

export type Ending =
  | { readonly gone: true }
  | { readonly gone: false; readonly kind: LaneFailureKind | null };

/** Announces the reap, ends the machine, records what came of it. Each one counts (failover 9.3). */
export async function reapMachine(
  run: AllocationRun,
  intent: IntentState,
  instance: string,
): Promise<Progress> {
  const { chain, lane } = intent;
  if (!(await mayEnd(run, lane, instance))) return 'go_on';
  const number = reapsOf(run.recorder.state, chain) + 1;
  const reaped = { instance, intent: intent.intent, chain };
  const announcedMs = run.parts.clock.monotonicMs();
  const announced = await run.add([{ type: 'ReapAnnounced', data: { ...reaped, lane, number } }]);
  if (announced.kind !== 'recorded') return run.after(announced);
  const graceOver = graceEnd(intent, run.lane(lane).facts);
  const provesAbsence = await isOver(run, graceOver);
  if (isTooLate(run, announcedMs)) return 'go_on';
  const answer = await send(announced.recorded, run.lane(lane), terminating(instance));
  await run.parts.kill('reap_in_flight');
  // An open attempt looks anew before it goes on. A pass over what is left goes through its one listing.
  if (intent.closed === null) run.forget(lane, instance);
  else run.forgetProbe(instance);
  const ending = await endingOf(run, run.lane(lane), instance, { answer, provesAbsence, graceOver });
  if (ending.gone) return run.after(await run.add([{ type: 'ResidueReaped', data: reaped }]));
  run.learn({ reapFailed: [...run.work.reapFailed, instance] });
  return run.after(
    await run.add([
      { type: 'ReapFailed', data: { ...reaped, kind: ending.kind } },
      ...alertOnce(run.recorder.state, 'residue_unresolved', instance, { instance, lane }),
    ]),
  );
}

/**
 * Reads the machine once more: the listing may be old by now, and somebody may have marked it to be kept. False =
 * it is left alone in this run.
 */
async function mayEnd(run: AllocationRun, lane: string, instance: string): Promise<boolean> {
  const read = await run.lane(lane).get(instance);
  if (read.kind === 'failed' && read.failure.kind === 'not_found') return true;
  if (read.kind === 'ok' && !read.value.instance.keep) return true;
  run.learn({ reapFailed: [...run.work.reapFailed, instance] });
  const alerts =
    read.kind === 'ok' ? alertOnce(run.recorder.state, 'keep_mark_blocks', instance, { instance, lane }) : [];
  if (alerts.length > 0) await run.add(alerts);
  return false;
}

/** An answered terminate. Absence is proven only by what was asked after the grace was over. */
export interface Ended {
  readonly answer: TerminateAnswer;
  /** Whether the grace was over before the request went out: its answer can take its time. */
  readonly provesAbsence: boolean;
  readonly graceOver: string;
}

/**
 * What an answer to a terminate proves. Deleted means seen gone (failover 12.2): a provider that only accepted
 * the request is asked again, and until `graceOver` that it knows no such instance proves nothing (providers 1.5).
 */
export async function endingOf(
  run: AllocationRun,
  lane: Lane,
  instance: string,
  { answer, provesAbsence, graceOver }: Ended,
): Promise<Ending> {
  switch (answer.kind) {
    case 'failed':
      return { gone: false, kind: answer.failure.kind };
    case 'gone': {
      const proven = answer.onlyNotFound !== true || provesAbsence;
      return proven ? { gone: true } : { gone: false, kind: 'not_found' };
    }
    case 'requested':
      return seenGone(run, lane, instance, graceOver);
  }
}

async function seenGone(
  run: AllocationRun,
  lane: Lane,
  instance: string,
  graceOver: string,
): Promise<Ending> {
  for (let looks = 0; looks < GONE_LOOKS; looks += 1) {
    if (await isProvenAbsent(run, lane, instance, graceOver)) return { gone: true };
    if (run.signal.aborted) break;
    if (run.work.fence !== null && !(await run.renewLease())) break;
    await run.parts.pause(GONE_LOOK_MS);
  }
  return { gone: false, kind: null };
}

/** Whether a read that began after the grace was over finds no such instance. */
export async function isProvenAbsent(
  run: AllocationRun,
  lane: Lane,
  instance: string,
  graceOver: string,
): Promise<boolean> {
  const proves = await isOver(run, graceOver);
  const read = await lane.get(instance);
  return proves && read.kind === 'failed' && read.failure.kind === 'not_found';
}

/** Whether that moment has passed on the store's clock. */
export async function isOver(run: AllocationRun, graceOver: string): Promise<boolean> {
  return instantMs(await run.parts.log.leases.clock()) > instantMs(graceOver);
}
