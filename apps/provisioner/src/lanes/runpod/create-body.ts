import type { CreateRequest, IntentMark } from '#domain/provision/lane';
import { AGENT_PORT } from '../pod-agent.ts';

export interface PodDefaults {
  /** Runs the agent; used where the workload names no image. */
  readonly image: string;
  readonly cloud: 'SECURE' | 'COMMUNITY';
  readonly diskGb: number;
}

const GIGABYTE = 1_000_000_000;

/** Why a request cannot be put to Runpod at all; null = it can. */
export function refusalOf(request: CreateRequest): string | null {
  if (gpuTypeOf(request) === null) return 'neither a machine nor a GPU product is named';
  if (request.pool !== null && request.pool !== 'on-demand') return `there is no pool ${request.pool} here`;
  return null;
}

/** The GPU type id of the provider. One type a create: a list of types is several rungs (providers 3). */
export function gpuTypeOf({ machine, gpu }: CreateRequest): string | null {
  return machine ?? gpu?.product ?? gpu?.family ?? null;
}

/**
 * The body of a create. The workload is not in it, save its image and size: env of a pod can be read by
 * everyone who may list pods, so what it runs is handed over by the dispatch.
 */
export function createBody(
  mark: IntentMark,
  request: CreateRequest,
  defaults: PodDefaults,
  token: string,
): Readonly<Record<string, unknown>> {
  const { workload, zone } = request;
  const count = request.gpu?.count ?? 1;
  const disk = workload?.diskBytes ?? null;
  const memory = workload?.memoryBytes ?? null;
  return {
    name: mark.name,
    image: workload?.image ?? defaults.image,
    cloud: defaults.cloud,
    gpu: {
      id: gpuTypeOf(request),
      count,
      ...(memory === null ? {} : { minRamPerGpu: Math.ceil(memory / GIGABYTE / count) }),
    },
    disk: disk === null ? defaults.diskGb : Math.ceil(disk / GIGABYTE),
    ports: [`${AGENT_PORT}/http`],
    env: {
      SPILLWAY_DEPLOYMENT: mark.deployment,
      SPILLWAY_ALLOCATION: mark.allocation,
      SPILLWAY_INTENT: mark.intent,
      SPILLWAY_AGENT_PORT: String(AGENT_PORT),
      SPILLWAY_AGENT_TOKEN: token,
    },
    ...(zone === null ? {} : { dataCenterIds: [zone] }),
  };
}
