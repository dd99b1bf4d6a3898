import { escalate } from '#domain/intent/escalate';
import { openIntentOf, type Placement } from '#domain/placement';
import { nextStep } from '#domain/provision/next-step';
import type { Step } from '#domain/provision/step';
import type { Wait } from '#domain/provision/waits';
import { eventIdOf } from '#events/envelope';
import type { Escalation } from '#events/intent.events';
import { listLane } from './listings.ts';
import type { ProvisionerParts } from './parts.ts';
import type { Recorder } from './recorder.ts';
import { AllocationRun, type Progress, type RunOptions } from './run.ts';
import { cancelInstance } from './steps/cancel.ts';
import { createInstance } from './steps/create.ts';
import { countRung, freeLease, openIntent, takeLease } from './steps/lease.ts';
import { bootstrapMachine, dispatchWorkload, probeMachine } from './steps/machine.ts';
import { reapMachine } from './steps/reap.ts';
import type { Asking } from './terminal-room.ts';

/** More steps than any story needs: a loop that never ends would be one that spends. */
const STEPS_MAX = 500;

/**
 * Runs on one allocation until nothing more can happen now (failover 9); answers what it waits for then, null =
 * nothing. The lease goes back, also after an error; only a worker that dies, or has lost it, leaves it to run out.
 */
export async function carryOnWith(
  parts: ProvisionerParts,
  stream: string,
  options: RunOptions,
): Promise<Wait | null> {
  const run = await AllocationRun.open(parts, stream, options);
  try {
    for (let steps = 0; steps < STEPS_MAX; steps += 1) {
      if (run.signal.aborted) return null;
      const step = await choose(run);
      if (step.do === 'wait') return step;
      if ((await take(run, step)) === 'stop') return null;
    }
    parts.report({ kind: 'steps_exceeded', stream });
    return null;
  } finally {
    await run.giveLeaseBack();
  }
}

async function choose(run: AllocationRun): Promise<Step> {
  const { clock, settings, lanes, terminalRoom } = run.parts;
  const { state } = run.recorder;
  return nextStep(state, {
    stream: run.stream,
    name: Object.keys(run.work.listings).length > 0 ? await run.name() : null,
    now: await clock.read(),
    rules: { deployment: settings.deployment, observeOnly: settings.observeOnly },
    laneFacts: (lane) => lanes.get(lane)?.facts ?? null,
    mustLook: run.mustLook,
    terminalRoom: needsRoom(state) ? await terminalRoom.hasRoom(askingOf(run.stream, state)) : true,
    work: run.work,
  });
}

async function take(run: AllocationRun, step: Exclude<Step, { do: 'wait' }>): Promise<Progress> {
  switch (step.do) {
    case 'rest':
      return 'stop';
    case 'append':
      return append(run, step.facts);
    case 'escalate':
      return escalateWith(run, step.escalation);
    case 'count_rung':
      return countRung(run, step);
    case 'take_lease':
      return takeLease(run, step.intent);
    case 'open_intent':
      return openIntent(run, step);
    case 'list': {
      const listing = await listLane(run.parts.log, run.lane(step.lane), run.parts.report);
      if (listing !== 'failed') run.onListed(step.lane);
      run.learn({ listings: { ...run.work.listings, [step.lane]: listing } });
      return 'go_on';
    }
    case 'probe':
      // While another worker has the lease, what a machine says is that worker's to find out (failover 11).
      if (run.work.fence === null && (await freeLease(run)) === null) return 'stop';
      return probeMachine(run, step.lane, step.instance);
    case 'probe_lane': {
      const { rung } = step;
      const { pool, machine, gpu, maxRunS } = rung;
      const read = await run.lane(rung.lane).probeLane({
        pool,
        zone: rung.zones[0] ?? null,
        machine,
        gpu,
        maxRunS,
        workload: null,
      });
      const open = read.kind === 'ok' ? read.value : read.failure;
      run.learn({ laneProbes: { ...run.work.laneProbes, [rung.id]: open } });
      return 'go_on';
    }
    case 'create':
      return createInstance(run, step.intent);
    case 'bootstrap':
      return bootstrapMachine(run, step.intent, step.instance);
    case 'dispatch':
      return dispatchWorkload(run, step.intent, step.instance, step.guard);
    case 'reap':
      return reapMachine(run, step.intent, step.instance);
    case 'cancel':
      return cancelInstance(run, step);
  }
}

async function append(run: AllocationRun, facts: Parameters<Recorder['add']>[0]): Promise<Progress> {
  if (facts.some(({ type }) => type === 'FailoverCompleted')) await run.parts.kill('dispatched_unrecorded');
  return run.after(await run.add(facts));
}

/** The consent table says whether the move is made, asked for, or blocked (failover 4.8). */
async function escalateWith(run: AllocationRun, escalation: Escalation): Promise<Progress> {
  const { state, record } = run.recorder;
  const commandId = run.recorder.newCommandId();
  const facts = escalate(state, record, escalation, {
    question: { ...(await run.parts.question(run.stream)), askedAt: run.parts.clock.now() },
    eventIdAt: (index) => eventIdOf(commandId, index),
  });
  if (facts.length === 0) throw new Error('an escalation that nothing follows from would be tried for ever');
  return run.after(await run.add(facts, { commandId }));
}

function askingOf(stream: string, state: Placement): Asking {
  return { stream, intent: openIntentOf(state)?.intent ?? null };
}

/** Whether the next create can be one of the terminal lane. */
function needsRoom(state: Placement): boolean {
  const open = openIntentOf(state);
  if (open === null) return state.move?.state === 'decided' && state.move.refused === null;
  return open.entry.kind === 'terminal' && open.instance === null;
}
