import { alertOnce } from '#domain/intent/blocked';
import type { IntentState } from '#domain/intent/intent-state';
import type { Lane, LaneFailureKind } from '#domain/provision/lane';
import { reapsOf } from '#domain/provision/reap';
import { send, terminating } from '../effects.ts';
import type { AllocationRun, Progress } from '../run.ts';

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
  const number = reapsOf(run.recorder.state, chain) + 1;
  const reaped = { instance, intent: intent.intent, chain };
  const announced = await run.add([{ type: 'ReapAnnounced', data: { ...reaped, lane, number } }]);
  if (announced.kind !== 'recorded') return run.after(announced);
  const answer = await send(announced.recorded, run.lane(lane), terminating(instance));
  await run.parts.kill('reap_in_flight');
  run.forget(lane, instance);
  const ending =
    answer.kind === 'requested' ? await seenGone(run, run.lane(lane), instance) : endingOf(answer);
  if (ending.gone) return run.after(await run.add([{ type: 'ResidueReaped', data: reaped }]));
  run.learn({ reapFailed: [...run.work.reapFailed, instance] });
  return run.after(
    await run.add([
      { type: 'ReapFailed', data: { ...reaped, kind: ending.kind } },
      ...alertOnce(run.recorder.state, 'residue_unresolved', instance, { instance, lane }),
    ]),
  );
}

export function endingOf(
  answer:
    | { readonly kind: 'gone' }
    | { readonly kind: 'failed'; readonly failure: { kind: LaneFailureKind } },
): Ending {
  return answer.kind === 'gone' ? { gone: true } : { gone: false, kind: answer.failure.kind };
}

/** Deleted means seen gone (failover 12.2): a provider that only accepted the request is asked again. */
export async function seenGone(run: AllocationRun, lane: Lane, instance: string): Promise<Ending> {
  for (let looks = 0; looks < GONE_LOOKS; looks += 1) {
    const read = await lane.get(instance);
    if (read.kind === 'failed' && read.failure.kind === 'not_found') return { gone: true };
    if (run.signal.aborted) break;
    if (run.work.fence !== null && !(await run.renewLease())) break;
    await run.parts.pause(GONE_LOOK_MS);
  }
  return { gone: false, kind: null };
}
