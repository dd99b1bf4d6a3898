import type { CreateRequest, IntentMark, Workload } from '#domain/provision/lane';

export interface MachineDefaults {
  /** Boot image; it runs what stands in the metadata `spillway-workload` (docs of the lane). */
  readonly image: string;
  readonly network: string;
  readonly zone: string | null;
  readonly diskGb: number;
  readonly serviceAccount: string | null;
  /** How long a queued request may wait for capacity: 0, or 90 to 7200 s. */
  readonly queueS: number;
}

const POOLS = ['on-demand', 'preemptible', 'flex-start'] as const;
type Pool = (typeof POOLS)[number];

/** Bounds of a run in the queueing pool: 10 minutes to 7 days. */
const QUEUED_RUN_MIN_S = 600;
const QUEUED_RUN_MAX_S = 604_800;
const GIGABYTE = 1_000_000_000;

/** Why a request cannot be put to Compute at all; null = it can. */
export function refusalOf(request: CreateRequest, defaults: MachineDefaults): string | null {
  const zone = zoneOf(request, defaults);
  if (request.machine === null) return 'no machine type is named';
  if (zone === null) return 'no zone is named';
  // They stand in resource paths: a slash or a dot in one of them would name a resource of another project.
  const words = [zone, request.machine, request.gpu?.product ?? null];
  if (words.some((word) => word !== null && !RESOURCE_NAME.test(word))) {
    return 'a zone, machine type or accelerator has a name that no resource has';
  }
  const pool = poolOf(request);
  if (pool === null) return `there is no pool ${request.pool} here`;
  const run = request.maxRunS;
  if (pool === 'flex-start' && run !== null && (run < QUEUED_RUN_MIN_S || run > QUEUED_RUN_MAX_S)) {
    return 'a run of this pool lasts 10 minutes to 7 days';
  }
  return null;
}

export function zoneOf({ zone }: CreateRequest, defaults: MachineDefaults): string | null {
  return zone ?? defaults.zone;
}

/** The form of every name in a resource path. */
const RESOURCE_NAME = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** The body of an insert. The same intent and request give the same bytes, as its key demands. */
export function insertBody(
  mark: IntentMark,
  request: CreateRequest,
  zone: string,
  defaults: MachineDefaults,
): Readonly<Record<string, unknown>> {
  const labels = {
    'spillway-deployment': mark.deployment,
    'spillway-allocation': mark.allocation,
    'spillway-intent': mark.intent,
  };
  const items = [
    ...Object.entries(labels).map(([key, value]) => ({ key, value })),
    { key: 'enable-guest-attributes', value: 'TRUE' },
    ...(request.workload === null
      ? []
      : [{ key: 'spillway-workload', value: JSON.stringify(handedOver(request.workload)) }]),
  ];
  const bytes = request.workload?.diskBytes ?? null;
  const pool = poolOf(request) ?? 'on-demand';
  return {
    name: mark.name,
    machineType: `zones/${zone}/machineTypes/${request.machine}`,
    labels,
    metadata: { items },
    scheduling: schedulingOf(pool, request.maxRunS),
    ...(pool === 'flex-start'
      ? {
          params: { requestValidForDuration: { seconds: String(defaults.queueS) } },
          reservationAffinity: { consumeReservationType: 'NO_RESERVATION' },
        }
      : {}),
    ...acceleratorsOf(request, zone),
    disks: [
      {
        boot: true,
        autoDelete: true,
        initializeParams: {
          sourceImage: request.workload?.image ?? defaults.image,
          diskSizeGb: String(bytes === null ? defaults.diskGb : Math.ceil(bytes / GIGABYTE)),
        },
      },
    ],
    networkInterfaces: [{ network: defaults.network }],
    ...(defaults.serviceAccount === null
      ? {}
      : {
          serviceAccounts: [
            { email: defaults.serviceAccount, scopes: ['https://www.googleapis.com/auth/cloud-platform'] },
          ],
        }),
  };
}

function schedulingOf(pool: Pool, maxRunS: number | null): Readonly<Record<string, unknown>> {
  const limit = maxRunS === null ? {} : { maxRunDuration: { seconds: String(maxRunS) } };
  // A stopped machine keeps telling how its workload ended; a deleted one does not.
  const ends = { instanceTerminationAction: 'STOP', onHostMaintenance: 'TERMINATE', automaticRestart: false };
  switch (pool) {
    case 'flex-start':
      return {
        provisioningModel: 'FLEX_START',
        maxRunDuration: { seconds: String(maxRunS ?? QUEUED_RUN_MAX_S) },
        ...ends,
      };
    case 'preemptible':
      return { provisioningModel: 'SPOT', ...limit, ...ends };
    case 'on-demand': {
      const { instanceTerminationAction, ...rest } = ends;
      return {
        provisioningModel: 'STANDARD',
        ...limit,
        ...rest,
        ...(maxRunS === null ? {} : { instanceTerminationAction }),
      };
    }
  }
}

/** Only machines of the first generation take GPUs beside their type; the others bring theirs. */
function acceleratorsOf({ machine, gpu }: CreateRequest, zone: string) {
  if (machine === null || !machine.startsWith('n1-') || gpu === null || gpu.product === null) return {};
  const type = `zones/${zone}/acceleratorTypes/${gpu.product}`;
  return { guestAccelerators: [{ acceleratorType: type, acceleratorCount: gpu.count ?? 1 }] };
}

function poolOf({ pool }: CreateRequest): Pool | null {
  if (pool === null) return 'on-demand';
  return POOLS.find((known) => known === pool) ?? null;
}

function handedOver({ command, arguments: list, branch, env, outputs }: Workload) {
  return { command, arguments: list, branch, env, outputs };
}
