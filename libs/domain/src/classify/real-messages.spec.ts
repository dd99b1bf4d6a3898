import { expect, test } from 'vitest';
import { classify, type FailureCategory } from './classify.ts';

interface RealMessages {
  readonly category: FailureCategory;
  readonly reason: string;
  /** Code and message, as providers, schedulers and libraries send them. */
  readonly failures: readonly (readonly [code: string, message: string])[];
}

const REAL_MESSAGES: readonly RealMessages[] = [
  {
    category: 'capacity_exhausted',
    reason: 'A trigger word is part of a name or a setting.',
    failures: [
      ['capacity_exhausted', 'no capacity for pod cuda-nccl-bench-1 in zone tls-west-1'],
      ['capacity_exhausted', 'no H200 hosts left; workload label app=network-dns-probe'],
      ['capacity_exhausted', 'no capacity in us-east1; set timeout=600 and retry'],
      ['capacity_exhausted', 'no capacity; label app.kubernetes.io/name=traceback-collector'],
      ['capacity_exhausted', 'capacity unavailable, url https://example.com/errors/timeout?x=cancelled'],
      ['capacity_exhausted', 'node "timeout" has no H100 left'],
      ['capacity_exhausted', 'insufficient capacity, timeout=900s, retry later'],
    ],
  },
  {
    category: 'capacity_exhausted',
    reason: 'History and hints are left out.',
    failures: [
      ['capacity_exhausted', 'Earlier: connection refused by api. No capacity for gpu-h100-sxm now'],
      ['', 'Not enough capacity to fulfill launch request. Regions with capacity available: none'],
      [
        '',
        'Instance type gpu_8x_h100_sxm5 is out of capacity in us-south-1. You can currently get capacity in us-east-1.',
      ],
    ],
  },
  {
    category: 'capacity_exhausted',
    reason: 'EC2 has no more of a GPU type, whatever wraps it.',
    failures: [
      ['InsufficientInstanceCapacity', ''],
      ['InsufficientHostCapacity', 'There is insufficient capacity on the Dedicated Host for g5.48xlarge'],
      [
        'Server.InsufficientInstanceCapacity',
        'We currently do not have sufficient p5.48xlarge capacity in the Availability Zone you requested',
      ],
      [
        '',
        'sky.exceptions.ResourcesUnavailableError: Failed to acquire resources in all zones in us-east-1. InsufficientInstanceCapacity: p5.48xlarge',
      ],
      ['', 'ICE: insufficient capacity for instance type p5.48xlarge in use1-az4'],
      [
        '',
        'LaunchFailed: creating instance, insufficient capacity, with fleet error(s), InsufficientInstanceCapacity: We currently do not have sufficient g4dn.xlarge capacity',
      ],
      ['InsufficientInstanceCapacity', 'Insufficient capacity.'],
    ],
  },
  {
    category: 'capacity_exhausted',
    reason: 'Azure and OCI have no host of the GPU size.',
    failures: [
      [
        'ZonalAllocationFailed',
        'Allocation failed. We do not have sufficient capacity for the requested VM size Standard_ND96isr_H100_v5 in this zone.',
      ],
      [
        'SkuNotAvailable',
        "The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: Standard_NC80adis_H100_v5' is currently not available in location 'eastus2'. Please try another size or deploy to a different location or different zone.",
      ],
      ['InternalError', 'Out of host capacity.'],
      ['OutOfHostCapacity', 'Out of host capacity'],
      [
        '',
        '(AllocationFailed) Allocation failed. We do not have sufficient capacity for the requested VM size Standard_NC40ads_H100_v5 in this region.',
      ],
      ['', '{"code": "InternalError", "message": "Out of host capacity."}'],
      [
        '',
        'SkuNotAvailable: The requested VM size Standard_NV36ads_A10_v5 is currently not available in location westus',
      ],
    ],
  },
  {
    category: 'capacity_exhausted',
    reason: 'Google says that the zone is out, bare or inside a CLI, Terraform or event wrapper.',
    failures: [
      [
        'ZONE_RESOURCE_POOL_EXHAUSTED',
        "The zone 'projects/p/zones/us-central1-a' does not have enough resources available to fulfill the request.  Try a different zone, or try again later.",
      ],
      [
        '',
        'Error waiting for creating instance: ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS: a3-megagpu-8g VM instance is currently unavailable in the us-east4-b zone. Alternatively, you can try your request again with a different VM hardware configuration or at a later time.',
      ],
      ['REGION_RESOURCE_POOL_EXHAUSTED', ''],
      [
        '',
        "We currently do not have sufficient p5e.48xlarge capacity in zones with support for 'gp3' volumes.",
      ],
      [
        'Failed',
        'ProvisioningRequest failed: there are not enough resources: stockout of a3-highgpu-8g in us-east5-a',
      ],
      [
        '',
        '{"error":{"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS","message":"The zone \'projects/p/zones/europe-west4-b\' does not have enough resources available to fulfill the request, \'(resource type:compute)\'."}]}}',
      ],
      ['CAPACITY-EXHAUSTED', 'zone full'],
    ],
  },
  {
    category: 'capacity_exhausted',
    reason: 'Nebius found no free host for the platform.',
    failures: [
      ['NotEnoughResources', 'VM schedule timeout, most likely due to insufficient hardware resources'],
      ['not_enough_resources', ''],
      [
        'NotEnoughResources',
        'Not enough resources to start virtual machine computeinstance-e00abc on platform gpu-h200-sxm',
      ],
      ['ResourceExhausted', 'Not enough resources in fabric fabric-2 for gpu cluster allocation'],
      [
        'capacity_exhausted',
        'Error: gpu-b200-sxm preset 8gpu-160vcpu-1792gb is not available in region us-central1: insufficient resources',
      ],
      [
        'NotEnoughResources',
        'violation: resource_type=virtualMachine requested=8gpu-128vcpu-1600gb message="not enough free GPU hosts in fabric-3"',
      ],
      ['', 'preset 8gpu-128vcpu-1600gb: on-demand availability LOW, not enough resources to place VM'],
    ],
  },
  {
    category: 'capacity_exhausted',
    reason: 'A GPU cloud says in its own words that nothing is left.',
    failures: [
      ['instance-operations/launch/insufficient-capacity', 'Not enough capacity to fulfill launch request.'],
      ['', 'Not enough free GPUs on the host machine to start this pod.'],
      ['', 'no capacity'],
      ['', 'Instance type not available: gpu_1x_a100 has no capacity in any region'],
      ['', 'We are currently at capacity for H100 GPUs'],
      ['', 'Insufficient capacity in us-tx-1 for gpu_8x_b200'],
      ['', 'Unable to launch: A100_SXM4_80GB is out of stock in all regions'],
    ],
  },
  {
    category: 'quota_exhausted',
    reason: 'A GPU quota of Nebius is named.',
    failures: [
      ['QuotaFailure', 'compute.instance.gpu.b200: quota exceeded, limit 0, requested 8'],
      ['', 'quota failure: violation {quota: "compute.instance.gpu.h100", limit: "8", requested: "16"}'],
      ['RESOURCE_EXHAUSTED', 'Quota exceeded: compute.instance.gpu.h200'],
      ['QuotaFailure', 'violation: quota=compute.instance.gpu.b200 limit=8 requested=16 unit=gpu'],
      ['QuotaFailure', 'compute.disk.size.network-ssd and compute.instance.gpu.h100 quotas exceeded'],
    ],
  },
  {
    category: 'quota_exhausted',
    reason: 'A Kubernetes or Kueue quota on a GPU resource.',
    failures: [
      [
        'FailedCreate',
        'pods "run-a" is forbidden: exceeded quota: gpus, requested: limits.cpu=4,requests.nvidia.com/gpu=2, used: limits.cpu=4,requests.nvidia.com/gpu=8, limited: limits.cpu=90,requests.nvidia.com/gpu=8',
      ],
      [
        'Pending',
        "couldn't assign flavors to pod set main: insufficient unused quota in cohort for nvidia.com/gpu in flavor h100, 8 more needed",
      ],
      [
        'Pending',
        "couldn't assign flavors to pod set worker: insufficient unused quota for cpu in flavor default, 4 more needed, insufficient unused quota for nvidia.com/gpu in flavor h100, 2 more needed",
      ],
      [
        'Pending',
        "couldn't assign flavors to pod set main: insufficient unused quota for amd.com/gpu in flavor mi300x, 8 more needed",
      ],
    ],
  },
  {
    category: 'quota_exhausted',
    reason: 'A SLURM limit on GPUs.',
    failures: [
      ['QOSGrpGRES', 'job 1 PENDING (QOSGrpGRES) gres/gpu=8'],
      ['AssocMaxGRESPerJob', 'job 2 PENDING (AssocMaxGRESPerJob) gres/gpu:a100=8'],
      ['QOSMaxGRESPerUser', ''],
      ['QOSGrpGRES', 'Job waiting gres/gpu=16 limit 8'],
      ['AssocGrpGRESRunMinutes', 'job 12 PENDING (AssocGrpGRESRunMinutes)'],
      ['', 'job 15 PENDING (QOSMaxGRESPerUser) gres/gpu=9'],
    ],
  },
  {
    category: 'quota_exhausted',
    reason: 'A GPU metric of Google.',
    failures: [
      ['QUOTA_EXCEEDED', "Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally."],
      [
        'QUOTA_EXCEEDED',
        "Quota exceeded for quota metric 'NVIDIA H100 GPUs' and limit 'GPUs per GPU family per region' of service 'compute.googleapis.com'.",
      ],
      [
        'FailedScaleUp',
        "Node scale up in zones us-east1-c associated with this pod failed: Quota 'NVIDIA_L4_GPUS' exceeded. Limit: 1.0",
      ],
      ['quota_exhausted', 'quota for image-pull-test namespace: nvidia.com/gpu limit reached'],
      [
        '',
        "googleapi: Error 403: Insufficient regional quota to satisfy request: resource \"NVIDIA_L4_GPUS\": request requires '4.0' and is short '4.0'., forbidden",
      ],
      [
        'FailedScaleUp',
        "Failed adding 1 nodes to group gpu-pool due to OutOfResource.QUOTA_EXCEEDED; source errors: Quota 'NVIDIA_A100_GPUS' exceeded",
      ],
      ['QUOTA_EXCEEDED', "Quota 'COMMITTED_NVIDIA_H100_GPUS' exceeded."],
    ],
  },
  {
    category: 'quota_exhausted',
    reason: 'The quota of a GPU family or shape.',
    failures: [
      [
        'VcpuLimitExceeded',
        'You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance bucket that the specified instance type p4d.24xlarge belongs to.',
      ],
      [
        'QuotaExceeded',
        'Operation could not be completed as it results in exceeding approved Standard NCASv3_T4 Family Cores quota.',
      ],
      ['LimitExceeded', 'The following service limits were exceeded: bm-gpu-h100-count.'],
      [
        '',
        'W 12-14 cloud_vm_ray_backend.py:702] create_instances: Attempt failed with An error occurred (VcpuLimitExceeded) when calling the RunInstances operation: You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance bucket that the specified instance type p3.16xlarge belongs to.',
      ],
      ['', 'Your quota allows for 0 more running instance(s). You requested at least 1 (p3.8xlarge)'],
      [
        '',
        'ResourcesUnavailableError: Failed to provision all possible launchable resources. AWS: Found no quota for p5.48xlarge on-demand instances',
      ],
      [
        '',
        'You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance bucket that the specified instance type p5.48xlarge belongs to.',
      ],
    ],
  },
  {
    category: 'quota_exhausted',
    reason: 'A quota of GPUs in plain words.',
    failures: [
      ['', 'Account quota reached: 0 of 0 GPUs for A100-80G machines in region NY2'],
      ['quota_exhausted', 'quota for accelerators exhausted in project auth-dev'],
      ['', 'You have reached the maximum number of GPUs (8) allowed for your account'],
      ['quota-exhausted', 'GPU quota exhausted'],
      ['', 'no quota for H200 in this tenant'],
      ['QUOTA-EXHAUSTED', 'accelerator quota'],
      ['', 'quota exhausted'],
    ],
  },
  {
    category: 'unschedulable_gpu',
    reason: 'The scheduler names a GPU resource as short, or says that a pod cannot be scheduled.',
    failures: [
      [
        'FailedScheduling',
        "0/318 nodes are available: 20 Insufficient nvidia.com/gpu, 298 node(s) didn't match Pod's node affinity/selector. preemption: 0/318 nodes are available: 298 Preemption is not helpful for scheduling.",
      ],
      [
        'Unschedulable',
        '0/4 nodes are available: 2 Insufficient nvidia.com/gpu.shared, 2 Insufficient memory.',
      ],
      ['', 'Pod is Unschedulable: Insufficient nvidia.com/gpu'],
      ['unschedulable_gpu', 'job cancelled-demo-3 waits: Insufficient nvidia.com/gpu'],
      [
        'Unschedulable',
        '0/3 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 Insufficient nvidia.com/mig-3g.40gb.',
      ],
      [
        'FailedScheduling',
        '0/64 nodes are available: 60 Insufficient nvidia.com/gpu, 4 node(s) were unschedulable.',
      ],
      ['', 'Pod gpu-run is Unschedulable'],
    ],
  },
  {
    category: 'no_compatible_product',
    reason: 'Nothing of the kind is offered.',
    failures: [
      [
        'Unsupported',
        'Your requested instance type (p5.48xlarge) is not supported in your requested Availability Zone (us-east-1c).',
      ],
      ['', 'could not schedule pod, no instance type satisfied resources {"cpu":"4","nvidia.com/gpu":"8"}'],
      ['no-compatible-product', 'none of 6 offers match sm_100'],
      ['no-compatible-product', ''],
      ['no_compatible_product', 'no instance type met GPU requirements'],
      ['affinity-mismatch', 'no GPU node in zone'],
      ['', 'no compatible GPU product'],
    ],
  },
];

const rows = REAL_MESSAGES.flatMap(({ category, reason, failures }) =>
  failures.map(([code, message]) => ({ category, reason, code, message })),
);

test.each(rows)('$category: $code $message ($reason)', ({ category, code, message }) => {
  expect(classify({ code, message }).category).toBe(category);
});
