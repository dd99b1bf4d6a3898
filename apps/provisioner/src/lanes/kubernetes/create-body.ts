import type { V1Pod } from '@kubernetes/client-node';
import type { CreateRequest, IntentMark, Workload } from '#domain/provision/lane';
import { MARK } from './pod.ts';

export interface PodShape {
  /** Used where a workload names no image. */
  readonly image: string;
  /** The resource of a GPU, nvidia.com/gpu as a rule. */
  readonly gpuResource: string;
  /** The node selector of each pool. */
  readonly pools: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly tolerations: readonly { readonly key: string; readonly operator: 'Exists' }[];
  readonly priorityClass: string | null;
}

/** Why a request cannot be put to this cluster at all; null = it can. */
export function refusalOf({ pool }: CreateRequest, shape: PodShape): string | null {
  return pool === null || shape.pools.has(pool) ? null : `there is no pool ${pool} here`;
}

/** The pod of an intent. The same intent and request give the same pod. */
export function podBody(mark: IntentMark, request: CreateRequest, namespace: string, shape: PodShape): V1Pod {
  const marks = {
    [`${MARK}deployment`]: mark.deployment,
    [`${MARK}allocation`]: mark.allocation,
    [`${MARK}intent`]: mark.intent,
  };
  const { workload } = request;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: mark.name, namespace, labels: marks, annotations: marks },
    spec: {
      restartPolicy: 'Never',
      nodeSelector: selectorOf(request, shape),
      tolerations: [...shape.tolerations],
      ...(request.maxRunS === null ? {} : { activeDeadlineSeconds: Math.ceil(request.maxRunS) }),
      ...(shape.priorityClass === null ? {} : { priorityClassName: shape.priorityClass }),
      containers: [
        {
          name: 'workload',
          image: workload?.image ?? shape.image,
          ...(workload === null ? {} : commandOf(workload)),
          env: Object.entries(workload?.env ?? {}).map(([name, value]) => ({ name, value })),
          resources: { limits: limitsOf(request, shape) },
        },
      ],
    },
  };
}

function selectorOf({ pool, zone, machine, gpu }: CreateRequest, shape: PodShape): Record<string, string> {
  return {
    ...(pool === null ? {} : shape.pools.get(pool)),
    ...(zone === null ? {} : { 'topology.kubernetes.io/zone': zone }),
    ...(machine === null ? {} : { 'node.kubernetes.io/instance-type': machine }),
    ...(gpu?.product == null ? {} : { 'nvidia.com/gpu.product': gpu.product }),
  };
}

function limitsOf({ gpu, workload }: CreateRequest, shape: PodShape): Record<string, string> {
  const memory = workload?.memoryBytes ?? null;
  const disk = workload?.diskBytes ?? null;
  return {
    ...(gpu === null ? {} : { [shape.gpuResource]: String(gpu.count ?? 1) }),
    ...(memory === null ? {} : { memory: String(memory) }),
    ...(disk === null ? {} : { 'ephemeral-storage': String(disk) }),
  };
}

function commandOf({ command, arguments: list }: Workload): { readonly command: string[] } {
  return { command: list === null ? ['/bin/sh', '-c', command ?? ''] : [...list] };
}
