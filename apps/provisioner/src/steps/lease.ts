import { commandDigest } from '#domain/command-digest';
import type { LeaseStep } from '#domain/log';
import { utcDay } from '#domain/placement';
import { markOf } from '#domain/provision/marker';
import { reapsOf } from '#domain/provision/reap';
import type { Step } from '#domain/provision/step';
import { canonicalJson } from '#events/canonical-json';
import type { Entry } from '#events/intent.events';
import type { AllocationRun, Progress } from '../run.ts';

/** From a count to its intent it is two appends. */
const COUNT_LEASE_MS = 10_000;

/** Taking the lease of an open intent is a fact that carries the fence (failover 11). */
export async function takeLease(run: AllocationRun, intent: string): Promise<Progress> {
  const lease = await freeLease(run);
  if (lease === null) return 'stop';
  const fence = lease.from + 1;
  const result = await run.recorder.add([{ type: 'LeaseTaken', data: { intent, fence } }], { lease });
  // What a machine said before may be over by now: another worker may have gone on in between.
  if (result.kind === 'recorded') run.learn({ fence, probes: {} });
  return result.kind === 'fenced' ? 'stop' : 'go_on';
}

/** The lease comes with the count: of two workers on one ladder one counts, and the other leaves it alone. */
export async function countRung(
  run: AllocationRun,
  { rung, day, count }: Extract<Step, { do: 'count_rung' }>,
): Promise<Progress> {
  const { walk } = run.recorder.state;
  const lease = await freeLease(run);
  if (lease === null || walk === null) return 'stop';
  const fence = lease.from + 1;
  const result = await run.recorder.add([{ type: 'RungCounted', data: { rung, day, count, fence } }], {
    // The intent that follows at once takes it for its whole length; who dies in between holds nobody up for long.
    lease: { ...lease, forMs: Math.min(lease.forMs, COUNT_LEASE_MS) },
  });
  if (result.kind === 'recorded') {
    // A count that came to stand on the next day is burned, and made anew on that one: no day's cap is passed.
    const counts = utcDay(result.recorded.recordedAt) === day;
    run.learn({ fence, counted: counts ? [...run.work.counted, `${walk.id} ${rung}`] : run.work.counted });
  }
  return result.kind === 'fenced' ? 'stop' : 'go_on';
}

/** Opens an intent and takes its lease in one append (failover 9.1, step 5). */
export async function openIntent(
  run: AllocationRun,
  step: Extract<Step, { do: 'open_intent' }>,
): Promise<Progress> {
  const { ids, settings } = run.parts;
  const { state } = run.recorder;
  const lease = await freeLease(run);
  if (lease === null) return 'stop';
  const fence = lease.from + 1;
  const intent = ids.intentId();
  const { name } = markOf(settings.deployment, run.stream, intent);
  const { entry, chain, replaces } = step;
  const result = await run.recorder.add(
    [
      ...(replaces === null
        ? []
        : [{ type: 'IntentClosed' as const, data: { intent: replaces, why: 'replaced' as const } }]),
      {
        type: 'IntentRecorded',
        data: {
          intent,
          name,
          lane: step.lane,
          entry,
          chain,
          requestDigest: requestDigest(entry, step.lane, state.launch?.workloadDigest ?? null),
          fence,
          reaps: reapsOf(state, chain),
          replaces,
        },
      },
    ],
    { lease },
  );
  if (result.kind === 'recorded') {
    run.learn({ fence });
    run.knows(intent);
  }
  return result.kind === 'fenced' ? 'stop' : 'go_on';
}

/** The step that takes the lease; null while another worker holds it. */
export async function freeLease(run: AllocationRun): Promise<LeaseStep | null> {
  const { log, holder } = run.parts;
  const row = await log.leases.read(run.stream);
  const others = row !== null && row.holder !== null && row.holder !== holder;
  if (others && row.until > (await log.leases.clock())) return null;
  return { lease: run.stream, holder, from: row?.fence ?? 0, forMs: run.leaseMs };
}

/** The same intent always asks for the same: what it asks for, without any text of the caller. */
function requestDigest(entry: Entry, lane: string, workload: string | null): string {
  return commandDigest('provision', canonicalJson({ entry, lane, workload }));
}
