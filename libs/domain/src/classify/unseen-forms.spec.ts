import { expect, test } from 'vitest';
import { classify, type FailureCategory } from './classify.ts';

type Row = readonly [category: FailureCategory, code: string, message: string, reason: string];

/** Forms of a failed placement that the other tables do not hold: wrappers, plurals, hints, mixed causes. */
const FORMS: readonly Row[] = [
  ['quota_exhausted', '', "Workload didn't fit in the remaining quota: nvidia.com/gpu", 'An older Kueue.'],
  ['unschedulable_gpu', '', 'Insufficient-GPU', 'The code is the whole message.'],
  ['quota_exhausted', '', 'Exception: job 4 PENDING (AssocGrpGRES)', 'A wrapper is no failure of its own.'],
  [
    'capacity_exhausted',
    'NotEnoughResources',
    '{"violation":{"resource_type":"virtualMachine","requested":"8gpu-128vcpu-1600gb","message":"VM schedule timeout, most likely due to insufficient hardware resources"}}',
    'The violation comes as JSON.',
  ],
  [
    'capacity_exhausted',
    '',
    'rpc error: code = ResourceExhausted desc = NotEnoughResources: VM schedule timeout',
    'The code stands in a gRPC status.',
  ],
  [
    'capacity_exhausted',
    '503',
    '{"error":{"code":503,"errors":[{"reason":"resourcePoolExhausted","message":"The resource pool exhausted"}],"status":"UNAVAILABLE","message":"A a2-highgpu-1g VM instance is currently unavailable in the us-central1-b zone. Alternatively, you can try your request again with a different VM hardware configuration or at a later time."}}',
    'An error body of the REST API.',
  ],
  [
    'capacity_exhausted',
    'ZONE_RESOURCE_POOL_EXHAUSTED',
    'A a3-highgpu-8g VM instance with 8 nvidia-h100-80gb accelerator(s) is currently unavailable in the us-east4-a zone. Consider trying your request in the us-east4-b zone(s).',
    'GCE names the machine as currently unavailable.',
  ],
  [
    'capacity_exhausted',
    '',
    'The specified reservation exists but is not available: all a3-highgpu-8g machines are in use',
    'Every machine of the reservation is taken.',
  ],
  [
    'capacity_exhausted',
    'InsufficientInstanceCapacity',
    'We currently do not have sufficient g6.12xlarge capacity in the Availability Zone you requested (ap-south-1b). Our system will be working on provisioning additional capacity. You can currently get g6.12xlarge capacity by choosing ap-south-1a.',
    'The hint names a zone with stock.',
  ],
  [
    'capacity_exhausted',
    '',
    'Launching a new EC2 instance. Status Reason: We currently do not have sufficient p4d.24xlarge capacity in the Availability Zone you requested (us-west-2a). Launching EC2 instance failed.',
    'An activity of an autoscaling group.',
  ],
  [
    'capacity_exhausted',
    '',
    '{"Errors":[{"ErrorCode":"InsufficientInstanceCapacity","ErrorMessage":"We currently do not have sufficient g6e.48xlarge capacity in the Availability Zone you requested (us-east-1c)."}]}',
    'Fleet errors as JSON.',
  ],
  [
    'capacity_exhausted',
    '',
    "oci.exceptions.ServiceError: {'status': 500, 'code': 'InternalError', 'message': 'Out of host capacity.', 'operation_name': 'launch_instance'}",
    'The exception of the OCI SDK.',
  ],
  [
    'capacity_exhausted',
    '',
    'Out of capacity for shape BM.GPU.A100-v2.8 in availability domain AD-2. Create the instance in a different availability domain or try again later.',
    '"Availability domain" is a place, not a resource.',
  ],
  [
    'capacity_exhausted',
    '500',
    '{"error":"start pod: This machine has no free GPUs left","status":500}',
    'A host without free GPUs.',
  ],
  ['capacity_exhausted', '', 'All 8xH100 nodes are occupied', 'Occupied nodes of a model.'],
  ['capacity_exhausted', '', 'No H100s are available at the moment', 'A model in the plural.'],
  ['capacity_exhausted', '', 'cannot allocate 8 GPUs: only 3 free', 'Fewer are free than were asked for.'],
  [
    'capacity_exhausted',
    '',
    'your request for 8 H100 is waitlisted because of limited supply',
    'A waiting list for a named model.',
  ],
  [
    'capacity_exhausted',
    'ResourcesUnavailableError',
    "Failed to acquire resources in all zones in us-central1 for {GCP({'A100-80GB': 8})}.",
    'A summary without a cause: no zone gave the GPUs.',
  ],
  [
    'capacity_exhausted',
    '',
    "No capacity\nFailed to provision in fleet 'cloud-fleet': tried 1 of 1 offers, all failed.\nErrors: p5.48xlarge in aws/us-west-1: NoCapacityError.",
    'The class of the error is the last word.',
  ],
  [
    'capacity_exhausted',
    'capacity_exhausted',
    'Every A100 in us-west is in use',
    'In use, with a typed code.',
  ],
  [
    'capacity_exhausted',
    'capacity_exhausted',
    'Last error: ErrImagePull at 09:00. Now: no capacity for gpu-h100-sxm',
    'The image error is history.',
  ],
  [
    'capacity_exhausted',
    'capacity_exhausted',
    'no capacity for pod oom-killer-demo on node pool tls-pool',
    'Trigger words inside the names of a pod and a pool.',
  ],
  [
    'capacity_exhausted',
    '',
    'errors: [{"code":"VolumeLimitExceeded"},{"code":"InsufficientInstanceCapacity","message":"We currently do not have sufficient p4d.24xlarge capacity"}]',
    'One of several codes in a list is a GPU shortage.',
  ],
  [
    'quota_exhausted',
    '403',
    "(1) insufficient regional quota to satisfy request: resource \"CPUS\": request requires '96.0' and is short '72.0'. (2) insufficient regional quota to satisfy request: resource \"NVIDIA_L4_GPUS\": request requires '8.0' and is short '7.0'.",
    'CPU and GPU are short; the GPU counts.',
  ],
  [
    'quota_exhausted',
    '403',
    "googleapi: Error 403: Quota exceeded for quota metric 'GPUs (all regions)' and limit 'GPUs-ALL-REGIONS-per-project', quotaExceeded",
    'The metric of all GPUs in words.',
  ],
  [
    'quota_exhausted',
    '',
    'ERROR: {"error":{"code":"InvalidTemplateDeployment","message":"The template deployment failed","details":[{"code":"QuotaExceeded","message":"Operation could not be completed as it results in exceeding approved standardNCSv3Family Cores quota."}]}}',
    'The inner detail of a deployment names the family.',
  ],
  [
    'quota_exhausted',
    'ErrCode_InsufficientVCPUQuota',
    'Insufficient vcpu quota requested 24, remaining 0 for family standardNCADSA100v4Family for region eastus.',
    'AKS names the family in another form.',
  ],
  [
    'quota_exhausted',
    'LimitExceeded',
    'You have reached your service limit of 0 in this Availability Domain for BM.GPU.H100.8.',
    'A limit of a GPU shape "in this Availability Domain".',
  ],
  [
    'quota_exhausted',
    'VcpuLimitExceeded',
    'Running On-Demand P instances quota is 0 vCPUs; 192 requested',
    'The quota of the P family in vCPUs.',
  ],
  ['quota_exhausted', '', 'account GPU limit is 0', 'A GPU limit of zero.'],
  [
    'quota_exhausted',
    'Pending',
    "couldn't assign flavors to pod set main: borrowing limit for nvidia.com/gpu in flavor h100 exceeded",
    'The borrowing limit of a GPU resource.',
  ],
  [
    'quota_exhausted',
    'FailedCreate',
    'pods "train-1" is forbidden: exceeded quota: q, requested: requests.amd.com/gpu=8, used: requests.amd.com/gpu=8, limited: requests.amd.com/gpu=8',
    'A quota on AMD GPUs.',
  ],
  [
    'quota_exhausted',
    'FailedCreate',
    'Error creating: pods "train" is forbidden: exceeded quota: q, requested: limits.nvidia.com/gpu=1, used: limits.nvidia.com/gpu=0, limited: limits.nvidia.com/gpu=0',
    'A quota denial on limits instead of requests.',
  ],
  [
    'quota_exhausted',
    '',
    'creating instance, with fleet error(s), MaxSpotInstanceCountExceeded: Max spot instance count exceeded; VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance bucket that the specified instance type g5.2xlarge belongs to',
    'The spot quota stands first, the GPU quota second.',
  ],
  [
    'unschedulable_gpu',
    'OutOfnvidia.com/gpu',
    "Pod was rejected: Node didn't have enough resource: nvidia.com/gpu, requested: 8, used: 4, capacity: 8",
    'The kubelet refuses for want of a GPU.',
  ],
  [
    'unschedulable_gpu',
    '',
    "Warning: The following resource request cannot be scheduled right now: {'GPU': 4.0}. This is likely due to all cluster resources being claimed by actors.",
    'Ray cannot schedule a GPU request.',
  ],
  [
    'unschedulable_gpu',
    'unschedulable_gpu',
    'pod train-cuda-0 in namespace nccl: Insufficient nvidia.com/gpu',
    'Names that are words of the GPU stack.',
  ],
  [
    'unschedulable_gpu',
    'insufficient-gpu',
    'previous run failed with connection refused; now 0 of 8 GPUs free',
    'The refused connection is of the run before.',
  ],
  ['no_compatible_product', '', 'no node has the requested GPU model', 'No node has the model.'],
  [
    'no_compatible_product',
    '',
    'none of the nodes have label nvidia.com/gpu.product=H200',
    'No node carries the label of the product.',
  ],
  [
    'no_compatible_product',
    '400',
    'Machine type a4-highgpu-8g is not available in zone us-west2-a',
    'The machine type is not sold in the zone.',
  ],
  [
    'no_compatible_product',
    '',
    'sky.exceptions.ResourcesUnavailableError: No launchable resource found for task. H300:8 is not offered on any enabled cloud',
    'A model that no cloud offers.',
  ],
  [
    'no_compatible_product',
    '',
    'could not schedule pod, incompatible with nodepool "gpu-a", no instance type has enough resources, requirements=node.kubernetes.io/instance-type In [g5.xlarge], resources={"cpu":"2","nvidia.com/gpu":"4"}',
    'No type has so many GPUs.',
  ],
];

test.each(FORMS)('%s: %s %s (%s)', (category, code, message, _reason) => {
  expect(classify({ code, message }).category).toBe(category);
});
