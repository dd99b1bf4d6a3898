import { startFailed } from '#domain/dispatch/prepare';
import type { IntentState } from '#domain/intent/intent-state';
import { instantMs } from '#events/instant';
import { dispatching, send } from '../effects.ts';
import type { AllocationRun, Progress } from '../run.ts';

/** Between two looks at a machine that is being prepared. */
const BOOTSTRAP_LOOK_MS = 5_000;

/** Asks a machine itself. A failed probe is no answer: it is neither running nor idle. */
export async function probeMachine(run: AllocationRun, lane: string, instance: string): Promise<Progress> {
  const read = await run.lane(lane).probe(instance);
  const found = read.kind === 'ok' ? read.value : 'failed';
  run.learn({ probes: { ...run.work.probes, [instance]: found } });
  return 'go_on';
}

/** Step 8: record that the bootstrap begins, then wait for it within `no_port_s` (failover 9.1, 12.5). */
export async function bootstrapMachine(
  run: AllocationRun,
  intent: IntentState,
  instance: string,
): Promise<Progress> {
  const { clock, pause } = run.parts;
  // What was probed before the bootstrap says nothing after it; from here on this worker knows its machine.
  run.forget(intent.lane, instance);
  run.knows(intent.intent);
  let begunAt = intent.bootstrapBegunAt;
  if (begunAt === null) {
    begunAt = clock.now();
    const begun = await run.add([
      { type: 'BootstrapBegun', data: { intent: intent.intent, instance, begunAt } },
    ]);
    if (begun.kind !== 'recorded') return run.after(begun);
  }
  const limitMs = (run.recorder.state.launch?.plan.limits.noPortS ?? 0) * 1000;
  const lane = run.lane(intent.lane);
  for (;;) {
    const answer = await lane.bootstrap(instance);
    if (answer.kind === 'complete') {
      run.learn({ ready: [...run.work.ready, instance] });
      return 'go_on';
    }
    const tooLong = instantMs(clock.now()) - instantMs(begunAt) > limitMs;
    if (answer.kind === 'failed' || tooLong) {
      run.learn({ halfBuilt: [...run.work.halfBuilt, instance] });
      return 'go_on';
    }
    if (run.signal.aborted || !(await run.renewLease())) return 'stop';
    await pause(BOOTSTRAP_LOOK_MS);
  }
}

/** Step 9: announce the dispatch, then send it. Whether the workload runs is for a probe to say (step 10). */
export async function dispatchWorkload(
  run: AllocationRun,
  intent: IntentState,
  instance: string,
  guard: string,
): Promise<Progress> {
  const { texts, kill } = run.parts;
  // It is built, by this worker or by one before it, and nothing was sent to it.
  if (intent.dispatches === 0) await kill('ready');
  const { launch } = run.recorder.state;
  const digest = launch?.workloadDigest ?? null;
  const workload = digest === null ? null : await texts.workload(run.stream, digest);
  if (workload === null) {
    return run.after(await run.add(startFailed(run.recorder.state, intent, instance, 'nothing_to_run')));
  }
  if (!(await run.renewLease())) return 'stop';
  const announced = await run.add([
    { type: 'DispatchSending', data: { intent: intent.intent, instance, number: intent.dispatches + 1 } },
  ]);
  if (announced.kind !== 'recorded') return run.after(announced);
  run.forget(intent.lane, instance);
  const answer = await send(
    announced.recorded,
    run.lane(intent.lane),
    dispatching(instance, guard, workload),
  );
  await kill('dispatch_in_flight');
  if (answer.kind !== 'refused') return 'go_on';
  const { state } = run.recorder;
  return run.after(await run.add(startFailed(state, intent, instance, answer.failure.kind)));
}
