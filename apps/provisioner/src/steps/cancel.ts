import type { Fact } from '#domain/fact';
import { alertOnce } from '#domain/intent/blocked';
import { voidedMove } from '#domain/intent/void-failover';
import { openIntentOf, type Placement } from '#domain/placement';
import type { LaneFacts } from '#domain/provision/lane';
import type { Step } from '#domain/provision/step';
import { plusSeconds } from '#events/instant';
import { send, terminating } from '../effects.ts';
import type { AllocationRun, Progress } from '../run.ts';
import { type Ending, endingOf, isOver, isProvenAbsent } from './reap.ts';
import { isTooLate } from './send-limit.ts';

type Cancel = Extract<Step, { do: 'cancel' }>;

/**
 * Cancels an instance that a move leaves behind (failover 12.1). One that was queued is read first: if it runs
 * by now the move is off, unless it is superseded already; then it is ended, since two workloads would run.
 */
export async function cancelInstance(run: AllocationRun, step: Cancel): Promise<Progress> {
  const { instance } = step;
  const lane = run.lane(step.lane);
  run.learn({ cancelTried: [...run.work.cancelTried, instance] });
  const graceOver = graceOverOf(run, lane.facts, instance);
  let alerts: readonly Fact[] = [];
  if (step.expects === 'queued') {
    const provesAbsence = await isOver(run, graceOver);
    const read = await lane.get(instance);
    if (read.kind === 'failed') {
      const { kind } = read.failure;
      if (kind !== 'not_found' || !provesAbsence) return unconfirmed(run, step, { gone: false, kind });
      return run.after(await run.add([{ type: 'CancelConfirmed', data: { instance } }]));
    }
    if (read.value.instance.state === 'running') {
      const { state } = run.recorder;
      if (!step.superseded) return runsByNow(run, state);
      alerts = alertOnce(state, 'two_workloads', instance, { instance, lane: step.lane });
    }
  }
  const announcedMs = run.parts.clock.monotonicMs();
  const announced = await run.add([
    { type: 'CancelSending', data: { instance, lane: step.lane } },
    ...alerts,
  ]);
  if (announced.kind !== 'recorded') return run.after(announced);
  const provesAbsence = await isOver(run, graceOver);
  if (isTooLate(run, announcedMs)) return 'go_on';
  const answer = await send(announced.recorded, lane, terminating(instance));
  await run.parts.kill('queue_cancelled');
  run.forget(step.lane, instance);
  const ending = await endingOf(run, lane, instance, { answer, provesAbsence, graceOver });
  // A cancel that failed may have been one too many: an instance that is confirmed absent is cancelled (failover 12.1).
  const isGone = ending.gone || (await isProvenAbsent(run, lane, instance, graceOver));
  if (!isGone) return unconfirmed(run, step, ending);
  return run.after(await run.add([{ type: 'CancelConfirmed', data: { instance } }]));
}

/** An instance that was made just now may not be known to the provider's reads yet (providers 1.5). */
function graceOverOf(run: AllocationRun, facts: LaneFacts, instance: string): string {
  const placed = run.recorder.state.instances[instance];
  const createdAt = placed?.createdAt ?? placed?.placedAt ?? '1970-01-01T00:00:00.000Z';
  return plusSeconds(createdAt, facts.listingGraceMs / 1000);
}

/** Owed from now on, and somebody is told; it is tried again by every pass. */
async function unconfirmed(
  run: AllocationRun,
  { instance, lane }: Cancel,
  ending: Extract<Ending, { gone: false }>,
): Promise<Progress> {
  const { state } = run.recorder;
  const facts: readonly Fact[] = [
    ...(Object.hasOwn(state.cancelsOwed, instance)
      ? []
      : [{ type: 'CancelUnconfirmed' as const, data: { instance, lane, kind: ending.kind } }]),
    ...alertOnce(state, 'cancel_unconfirmed', instance, { instance, lane }),
  ];
  return facts.length === 0 ? 'go_on' : run.after(await run.add(facts));
}

/** The instance began to run: it stays, and both lanes never run the workload (failover 4.4, 14). */
async function runsByNow(run: AllocationRun, state: Placement): Promise<Progress> {
  const { move, poolAccepted } = state;
  if (move === null) {
    if (poolAccepted === null) return 'go_on';
    const data = { prompt: poolAccepted.prompt, why: 'running' as const };
    return run.after(await run.add([{ type: 'PoolMoveNotProvisioned', data }]));
  }
  const open = openIntentOf(state);
  // A dispatch was sent: the terminal lane may run the workload already, so the debt stays (failover 14).
  if (open !== null && open.dispatches > 0) return 'go_on';
  return run.after(
    await run.add([
      voidedMove(move, run.recorder.record, {
        why: 'running',
        rule: '4.4 runs_by_now',
        dropsRungLoss: move.consent !== 'standing',
      }),
      ...(open === null
        ? []
        : [{ type: 'IntentClosed' as const, data: { intent: open.intent, why: 'voided' as const } }]),
    ]),
  );
}
