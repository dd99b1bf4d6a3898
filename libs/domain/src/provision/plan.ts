import { z } from 'zod';
import type { Gpu, Limits, Plan, Rung, Terminal } from '#events/plan';
import { withoutAbsent } from '../attempt/assess.ts';
import { digest } from '../digest.ts';
import type { RingKey } from '../key-ring.ts';
import type { LaneDirectory } from './lane-directory.ts';
import type { LaunchBody } from './launch-body.ts';
import { filledLimits } from './limits.ts';

/**
 * The plan as it is recorded: each rung with its lane's kind and whether its pool queues, every limit filled in,
 * so that no later change of lanes or defaults changes a recorded run (failover 1). Throws on a lane that the
 * parse of the body should have refused.
 */
export function resolvePlan(body: LaunchBody, lanes: LaneDirectory, defaults: Limits): Plan {
  const { plan, failover, workload, limits } = body;
  return {
    rungs: plan.rungs.map((rung) => resolvedRung(rung, lanes)),
    terminal: plan.terminal === undefined ? null : resolvedTerminal(plan.terminal),
    budgetS: plan.budget_s ?? null,
    failover,
    limits: filledLimits(limits ?? {}, defaults),
    hasWorkload: workload !== undefined,
  };
}

/** What is to run, as it is sealed and as a lane's driver gets it. Exactly one of command and arguments is set. */
export const SealedWorkload = z.strictObject({
  command: z.string().nullable(),
  arguments: z.array(z.string()).nullable(),
  image: z.string().nullable(),
  branch: z.string().nullable(),
  env: z.record(z.string(), z.string()),
  outputs: z.array(z.string()),
  diskBytes: z.number().nullable(),
  memoryBytes: z.number().nullable(),
});
export type SealedWorkload = z.output<typeof SealedWorkload>;

/** The workload of a launch with its absent members filled in; null when there is nothing to run. */
export function workloadOf(body: LaunchBody): SealedWorkload | null {
  const { workload } = body;
  if (workload === undefined) return null;
  return {
    command: workload.command ?? null,
    arguments: workload.arguments ?? null,
    image: workload.image ?? null,
    branch: workload.branch ?? null,
    env: presentTexts(workload.env ?? {}),
    outputs: workload.outputs ?? [],
    diskBytes: workload.disk_bytes ?? null,
    memoryBytes: workload.memory_bytes ?? null,
  };
}

/** Address of a sealed workload. */
export function workloadDigest(workload: SealedWorkload, key: RingKey): string {
  return digest(key.digests, 'workload', withoutAbsent(workload));
}

type SentRung = LaunchBody['plan']['rungs'][number];
type SentTerminal = NonNullable<LaunchBody['plan']['terminal']>;

function resolvedRung(rung: SentRung, lanes: LaneDirectory): Rung {
  const lane = lanes.get(rung.lane);
  if (lane === undefined || lane.kind === 'terminal') throw new Error('a rung names no lane for rungs');
  return {
    id: rung.id,
    lane: rung.lane,
    kind: lane.kind,
    pool: rung.pool,
    queues: lane.queueingPools.includes(rung.pool),
    zones: rung.zones ?? [],
    machine: rung.machine ?? null,
    gpu: resolvedGpu(rung.gpu),
    maxRunS: rung.max_run_s ?? null,
  };
}

function resolvedTerminal(terminal: SentTerminal): Terminal {
  return {
    lane: terminal.lane,
    machine: terminal.machine ?? null,
    gpu: resolvedGpu(terminal.gpu),
  };
}

function resolvedGpu(gpu: SentRung['gpu']): z.output<typeof Gpu> | null {
  if (gpu === undefined) return null;
  return { family: gpu.family ?? null, product: gpu.product ?? null, count: gpu.count ?? null };
}

function presentTexts(texts: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const present = Object.entries(texts).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text] as const],
  );
  return Object.fromEntries(present);
}
