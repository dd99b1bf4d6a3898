import { z } from 'zod';
import type { Lane } from '#domain/provision/lane';
import { systemClock } from '#platform/clock';
import { Secret } from '#platform/secret';
import { httpExchange } from './exchange.ts';
import { gcpLane } from './gcp/gcp-lane.ts';
import { fixedToken, googleTokens } from './gcp/tokens.ts';
import { podsOf } from './kubernetes/cluster.ts';
import { type ClusterAccess, kubeConfigOf } from './kubernetes/cluster-config.ts';
import { kubernetesLane } from './kubernetes/kubernetes-lane.ts';
import { httpPodAgent } from './pod-agent.ts';
import { PROXY_ADDRESS } from './runpod/agent-address.ts';
import { runpodLane } from './runpod/runpod-lane.ts';

const AGENT_KEY_MIN_BYTES = 32;
const CREATE_DEADLINE_MAX_MS = 30_000;
const READ_DEADLINE_MAX_MS = 60_000;

const laneName = z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/);
const baseUrl = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, ''));
const secretText = z
  .string()
  .min(1)
  .transform((text) => new Secret(text));
const secretKey = z
  .string()
  .transform((text) => new Uint8Array(Buffer.from(text, 'base64')))
  .refine((bytes) => bytes.length >= AGENT_KEY_MIN_BYTES, { error: 'is shorter than 32 bytes' })
  .transform((bytes) => new Secret(bytes));
const createDeadlineMs = z.int().positive().max(CREATE_DEADLINE_MAX_MS);
const timing = {
  listingGraceMs: z.int().nonnegative().optional(),
  createDeadlineMs: createDeadlineMs.optional(),
  /** Deadline of every other call. */
  readDeadlineMs: z.int().positive().max(READ_DEADLINE_MAX_MS).optional(),
};

const RunpodConfig = z.strictObject({
  lane: laneName,
  driver: z.literal('runpod'),
  baseUrl: baseUrl.default('https://api.runpod.io/v2'),
  apiKey: secretText,
  /** Base64, at least 32 bytes: the tokens of the pods' agents are derived from it. Never change it while pods live. */
  agentKey: secretKey,
  agentAddress: z.string().default(PROXY_ADDRESS),
  /** Runs the agent (pod-agent.ts); used where a workload names no image. */
  image: z.string().min(1),
  cloud: z.enum(['SECURE', 'COMMUNITY']).default('SECURE'),
  diskGb: z.int().positive().default(50),
  ...timing,
});

const GcpConfig = z.strictObject({
  lane: laneName,
  driver: z.literal('gcp'),
  project: z.string().min(1),
  baseUrl: baseUrl.default('https://compute.googleapis.com/compute/v1'),
  /** Path of a service account's key; absent = the machine's own credentials. */
  keyFile: z.string().min(1).nullable().default(null),
  /** One token instead of credentials, for the stand-in cloud. */
  accessToken: secretText.nullable().default(null),
  /** Boot image that runs the metadata `spillway-workload`. */
  image: z.string().min(1),
  network: z.string().min(1).default('global/networks/default'),
  /** Used where a rung names no zone. */
  zone: z.string().min(1).nullable().default(null),
  diskGb: z.int().positive().default(200),
  serviceAccount: z.string().min(1).nullable().default(null),
  /** How long a request of the queueing pool may wait: 0, or 90 to 7200 s. */
  queueS: z
    .int()
    .refine((seconds) => seconds === 0 || (seconds >= 90 && seconds <= 7_200), {
      error: 'is not 0, nor 90 to 7200',
    })
    .default(7_200),
  ...timing,
});

const KubernetesConfig = z
  .strictObject({
    lane: laneName,
    driver: z.literal('kubernetes'),
    kind: z.enum(['primary', 'batch']),
    namespace: z
      .string()
      .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)
      .default('default'),
    /** Path of a kubeconfig, and its context. Neither it nor `server` = the account of the pod we run in. */
    kubeconfig: z.string().min(1).nullable().default(null),
    context: z.string().min(1).nullable().default(null),
    server: baseUrl.nullable().default(null),
    token: secretText.nullable().default(null),
    /** Used where a workload names no image. */
    image: z.string().min(1),
    gpuResource: z.string().min(1).default('nvidia.com/gpu'),
    /** Node selector of each pool. */
    pools: z.record(z.string().min(1), z.record(z.string(), z.string())).default({}),
    /** Taints that the pods tolerate. */
    tolerations: z.array(z.string().min(1)).default(['nvidia.com/gpu']),
    priorityClass: z.string().min(1).nullable().default(null),
    ...timing,
  })
  .refine(({ server, token }) => (server === null) === (token === null), {
    error: 'needs server and token together',
  });

/** One lane of a deployment: its name in plans, its driver, and what that needs. */
export const LaneConfig = z.discriminatedUnion('driver', [GcpConfig, RunpodConfig, KubernetesConfig]);
export type LaneConfig = z.output<typeof LaneConfig>;

/** All lanes of a deployment. Each name stands for one lane. */
export const LanesConfig = z
  .array(LaneConfig)
  .min(1)
  .refine((lanes) => new Set(lanes.map(({ lane }) => lane)).size === lanes.length, {
    error: 'names a lane twice',
  });
export type LanesConfig = z.output<typeof LanesConfig>;

/** Which lanes there are. It holds credentials, so it is better given as a file. */
export const laneVariables = {
  SPILLWAY_LANES: z
    .string()
    .transform((text, context): LanesConfig => {
      const parsed = LanesConfig.safeParse(jsonOf(text));
      if (parsed.success) return parsed.data;
      for (const issue of parsed.error.issues) {
        // The place and the kind of trouble, never what stands there.
        const place = issue.path.length === 0 ? '' : `at ${issue.path.join('.')} `;
        const problem = issue.code === 'custom' ? issue.message : `has the wrong form (${issue.code})`;
        context.addIssue({ code: 'custom', message: `${place}${problem}` });
      }
      return z.NEVER;
    })
    .meta({
      description:
        'Lanes as a JSON list: [{"lane": name in plans, "driver": "gcp" | "runpod" | "kubernetes", ...}]; ' +
        'the members of each driver are in apps/provisioner/src/lanes/configured-lanes.ts.',
      orFile: true,
    }),
} as const;

/** The drivers of the configured lanes, by lane name. Nothing is sent yet. */
export function configuredLanes(configs: LanesConfig): ReadonlyMap<string, Lane> {
  return new Map(configs.map((config) => [config.lane, laneOf(config)]));
}

function laneOf(config: LaneConfig): Lane {
  const exchange = httpExchange();
  switch (config.driver) {
    case 'gcp':
      return gcpLane({
        ...timingOf(config),
        lane: config.lane,
        project: config.project,
        baseUrl: config.baseUrl,
        tokens: config.accessToken === null ? googleTokens(config.keyFile) : fixedToken(config.accessToken),
        defaults: {
          image: config.image,
          network: config.network,
          zone: config.zone,
          diskGb: config.diskGb,
          serviceAccount: config.serviceAccount,
          queueS: config.queueS,
        },
        exchange,
        nowMs: () => Date.parse(systemClock.now()),
      });
    case 'runpod':
      return runpodLane({
        ...timingOf(config),
        lane: config.lane,
        baseUrl: config.baseUrl,
        apiKey: config.apiKey,
        agentKey: config.agentKey,
        agentAddress: config.agentAddress,
        defaults: { image: config.image, cloud: config.cloud, diskGb: config.diskGb },
        exchange,
        agent: httpPodAgent({
          provider: 'runpod',
          exchange,
          ...(config.readDeadlineMs === undefined ? {} : { deadlineMs: config.readDeadlineMs }),
        }),
      });
    case 'kubernetes':
      return kubernetesLane({
        ...timingOf(config),
        lane: config.lane,
        kind: config.kind,
        namespace: config.namespace,
        pods: podsOf(kubeConfigOf(accessOf(config)), config.namespace),
        shape: {
          image: config.image,
          gpuResource: config.gpuResource,
          pools: new Map(Object.entries(config.pools)),
          tolerations: config.tolerations.map((key) => ({ key, operator: 'Exists' })),
          priorityClass: config.priorityClass,
        },
        secrets: config.token === null ? [] : [config.token.reveal()],
      });
  }
}

function accessOf({ server, token, kubeconfig, context }: z.output<typeof KubernetesConfig>): ClusterAccess {
  if (server !== null && token !== null) return { kind: 'token', server, token };
  return kubeconfig === null ? { kind: 'in_cluster' } : { kind: 'file', path: kubeconfig, context };
}

function timingOf(config: LaneConfig) {
  const { listingGraceMs, createDeadlineMs: makeMs, readDeadlineMs } = config;
  return {
    ...(listingGraceMs === undefined ? {} : { listingGraceMs }),
    ...(makeMs === undefined ? {} : { createDeadlineMs: makeMs }),
    ...(readDeadlineMs === undefined ? {} : { readDeadlineMs }),
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
