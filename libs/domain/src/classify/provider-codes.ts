import type { QualifyingCategory } from './category.ts';
import {
  type CodeTable,
  type Condition,
  codeTable,
  type KnownCode,
  type ProviderCode,
} from './code-table.ts';

function row(
  provider: string,
  codes: string,
  category: QualifyingCategory | 'other',
  condition: Condition | undefined,
  reason: string,
): ProviderCode {
  return { provider, codes: codes.split(' '), category, condition, reason };
}

/** Every provider code that says something about placement. A new provider is new rows (fallback 2.4). */
export const PROVIDER_CODES: readonly ProviderCode[] = [
  // Our own words, as normalising callers send them.
  row(
    'spillway',
    'quota_exhausted quota',
    'quota_exhausted',
    'not_negative',
    'The caller has normalised the failure.',
  ),
  row(
    'spillway',
    'capacity_exhausted capacity',
    'capacity_exhausted',
    'not_negative',
    'The caller has normalised the failure.',
  ),
  row(
    'spillway',
    'unschedulable_gpu insufficient_gpu',
    'unschedulable_gpu',
    'not_negative',
    'The caller has normalised the failure.',
  ),
  row(
    'spillway',
    'no_compatible_product affinity_mismatch',
    'no_compatible_product',
    'not_negative',
    'The caller has normalised the failure.',
  ),
  row(
    'spillway',
    'gpu_quota_exceeded gpu_quota_exhausted',
    'quota_exhausted',
    'not_negative',
    'The code itself names GPUs.',
  ),
  row(
    'spillway',
    'no_capacity out_of_capacity capacity_unavailable insufficient_resources out_of_stock ' +
      'sold_out stockout no_compute_available no_gpu_available no_gpus_available gpu_unavailable ' +
      'NoCapacityError',
    'capacity_exhausted',
    'not_negative',
    'Clients spell an empty stock in these ways.',
  ),

  row(
    'nebius',
    'LIMIT_REACHED',
    'quota_exhausted',
    'gpu',
    'The preflight says the own limit is reached; it must be one of a GPU platform.',
  ),
  row('nebius', 'TooManyRequests', 'other', undefined, 'The call rate, also on Azure and OCI.'),
  row(
    'grpc',
    'ABORTED FAILED_PRECONDITION',
    'other',
    undefined,
    'A conflict or a state of the resource, not its stock.',
  ),

  row(
    'gcp',
    'ZONE_RESOURCE_POOL_EXHAUSTED ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS ' +
      'REGION_RESOURCE_POOL_EXHAUSTED REGION_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS ' +
      'RESOURCE_POOL_EXHAUSTED',
    'capacity_exhausted',
    'not_negative',
    'The zone or region is out of the machines that were asked for.',
  ),
  row(
    'gcp',
    'INSUFFICIENT_CAPACITY GCE_STOCKOUT GCP_STOCKOUT resource_availability',
    'capacity_exhausted',
    'not_negative',
    'Bulk insert, instance groups and GKE name the same stockout so.',
  ),
  row(
    'gcp',
    'QUOTA_EXCEEDED',
    'quota_exhausted',
    'gpu',
    'Also QuotaExceeded of OCI and Azure. Quotas of disks and addresses come under the same code.',
  ),
  row('gcp', 'GPUS_ALL_REGIONS', 'quota_exhausted', 'gpu', 'The global GPU quota names itself.'),
  row(
    'gcp',
    'rateLimitExceeded userRateLimitExceeded *_RATE_EXCEEDED IP_SPACE_EXHAUSTED*',
    'other',
    undefined,
    'Call rates and addresses.',
  ),
  row(
    'gcp',
    'RESOURCE_NOT_FOUND VM_MIN_COUNT_NOT_REACHED',
    'other',
    'inner',
    'An image or instance is missing; only an accelerator type is a product. The minimum count ' +
      'is a summary of the cause listed under it.',
  ),
  row(
    'gcp',
    'alreadyExists resourceInUseByAnotherResource instance_not_found',
    'other',
    undefined,
    'Names and states of single machines.',
  ),

  row(
    'aws',
    'InsufficientInstanceCapacity InsufficientInstanceCapacityException ' +
      'InsufficientCapacityError InsufficientCapacityException InsufficientHostCapacity ' +
      'InsufficientCapacityOnHost InsufficientReservedInstanceCapacity UnfulfillableCapacity ' +
      'CapacityNotAvailable CapacityError EC2InsufficientCapacityError',
    'capacity_exhausted',
    'not_negative',
    'The zone, host or fleet has none of the type left; Karpenter wraps it as InsufficientCapacityError.',
  ),
  row(
    'aws',
    'ReservationCapacityExceeded',
    'capacity_exhausted',
    'not_negative',
    'The reserved capacity is used up.',
  ),
  row(
    'aws',
    'InstanceLimitExceeded VcpuLimitExceeded ResourceLimitExceeded',
    'quota_exhausted',
    'gpu',
    'Limits of each family; only p and g are GPUs.',
  ),
  row(
    'aws',
    'MaxSpotInstanceCountExceeded',
    'other',
    undefined,
    'The quota of the preemptible pool, where a switch would fail as well.',
  ),
  row(
    'aws',
    'Unsupported',
    'no_compatible_product',
    'gpu',
    'The type is not offered in the zone; other configurations share the code.',
  ),
  row(
    'aws',
    'VolumeLimitExceeded RequestLimitExceeded Throttling ThrottlingException ' +
      'AddressLimitExceeded SnapshotLimitExceeded InsufficientFreeAddressesInSubnet ' +
      'InsufficientAddressCapacity RequestResourceCountExceeded SpotMaxPriceTooLow ' +
      'SpotInstanceTermination PendingVerification',
    'other',
    undefined,
    'Disks, addresses, call rates, prices and checks of the account.',
  ),
  row('aws', 'AsgInstanceLaunchFailures', 'other', 'inner', 'A health issue that lists its causes.'),

  row(
    'azure',
    'AllocationFailed ZonalAllocationFailed SkuNotAvailable',
    'capacity_exhausted',
    'gpu',
    'No hosts of the size; CPU sizes share the codes.',
  ),
  row(
    'azure',
    'OverconstrainedAllocationRequest OverconstrainedZonalAllocationRequest',
    'capacity_exhausted',
    'not_negative',
    'The constrained allocation cannot be placed.',
  ),
  row(
    'azure',
    'OperationNotAllowed',
    'quota_exhausted',
    'gpu',
    'Also the code of any operation that a state forbids; only a GPU family makes it a quota.',
  ),
  row(
    'azure',
    'NotAvailableForSubscription',
    'no_compatible_product',
    'gpu',
    'The size is not offered to the subscription.',
  ),
  row('azure', 'PublicIPCountLimitReached', 'other', undefined, 'Addresses.'),

  row('oci', 'LimitExceeded', 'quota_exhausted', 'gpu', 'Service limits of every kind.'),
  row(
    'oci',
    'OutOfHostCapacity',
    'capacity_exhausted',
    'not_negative',
    'The spelling of clients for the text of OCI.',
  ),

  row(
    'alibaba',
    'OperationDenied.NoStock Zone.NotOnSale OperationDenied.ZoneNotOnSale',
    'capacity_exhausted',
    'not_negative',
    'The zone has sold the type out.',
  ),
  row(
    'tencent',
    'ResourceInsufficient.SpecifiedInstanceType ResourcesSoldOut.SpecifiedInstanceType ' +
      'ResourceInsufficient.AvailabilityZoneSoldOut ResourcesSoldOut.AvailableZone',
    'capacity_exhausted',
    'not_negative',
    'The type is sold out; disks and addresses have members of their own.',
  ),

  row('vast', 'no_such_ask', 'capacity_exhausted', 'not_negative', 'The offer was taken by somebody else.'),
  row(
    'vast',
    'insufficient_credit insufficient_credits insufficient_balance payment_required',
    'other',
    undefined,
    'Money.',
  ),
  row(
    'runpod',
    'SUPPLY_CONSTRAINT',
    'capacity_exhausted',
    'not_negative',
    'The code under which its GraphQL answers that no machine of the type is left.',
  ),
  row(
    'runpod',
    'ResourceAlreadyExists',
    'other',
    undefined,
    'A pod of that name exists: its own or that of a person.',
  ),
  row(
    'dstack',
    'failed_to_start_due_to_no_capacity',
    'capacity_exhausted',
    'not_negative',
    'Every offer failed for want of capacity.',
  ),
  row(
    'dstack',
    'interrupted_by_no_capacity instance_terminated_no_capacity instance_stopped_no_capacity',
    'other',
    undefined,
    'A running spot machine was taken back (fallback 2.3).',
  ),

  row(
    'autoscaler',
    'NotTriggerScaleUp FailedScaleUp FailedScheduling FailedCreate',
    'other',
    'inner',
    'Event reasons; the message names the cause.',
  ),
  row(
    'kueue',
    'CapacityIsNotFound',
    'capacity_exhausted',
    'not_negative',
    'The ProvisioningRequest found no capacity.',
  ),
  row(
    'kueue',
    'CapacityRevoked Preempted Evicted',
    'other',
    undefined,
    'A granted run ended (fallback 2.3).',
  ),
  row('skypilot', 'ResourcesUnavailableError', 'other', 'inner', 'A summary of the reasons listed under it.'),

  row(
    'slurm',
    'QOSMaxGRES* QOSGrpGRES* AssocGrpGRES* AssocMaxGRES* MaxGRES*',
    'quota_exhausted',
    'no_other',
    'GRES are the GPUs of SLURM, unless the text names another one.',
  ),
  row(
    'slurm',
    'QOSMaxTRES* QOSGrpTRES* AssocGrpTRES* AssocMaxTRES*',
    'quota_exhausted',
    'gpu',
    'TRES are resources of any kind.',
  ),
  row(
    'slurm',
    'Resources',
    'capacity_exhausted',
    'gpu',
    'The job waits for nodes; with a GPU gres these are GPU nodes.',
  ),
];

/** Today's rows, looked up by what callers write. */
export const PROVIDER_TABLE: CodeTable = codeTable(PROVIDER_CODES);

/** The row of a code, by its compact form. */
export function providerCode(form: string): KnownCode | undefined {
  return PROVIDER_TABLE.find(form);
}
