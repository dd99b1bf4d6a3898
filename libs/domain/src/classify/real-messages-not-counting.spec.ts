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
    category: 'other',
    reason: 'A cluster is short of CPU, disk, pods, ports or another device.',
    failures: [
      ['Unschedulable', '0/8 nodes are available: 8 Insufficient memory.'],
      [
        'FailedScheduling',
        "0/5 nodes are available: 2 node(s) didn't have free ports for the requested pod ports, 3 node(s) had volume node affinity conflict.",
      ],
      [
        'FailedScheduling',
        "0/4 nodes are available: 4 node(s) didn't satisfy existing pods anti-affinity rules.",
      ],
      [
        'Pending',
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 4 more needed",
      ],
      ['Unschedulable', '0/3 nodes are available: 3 Insufficient xilinx.com/fpga-xilinx.'],
      ['Unschedulable', '0/4 nodes are available: 4 Insufficient memory, 4 Insufficient cpu.'],
      ['Unschedulable', '0/4 nodes are available: 4 node(s) exceed max volume count.'],
    ],
  },
  {
    category: 'other',
    reason: 'The calls come too fast.',
    failures: [
      [
        '',
        "googleapi: Error 403: Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute' of service 'compute.googleapis.com', rateLimitExceeded",
      ],
      ['TooManyRequests', 'User-rate limit exceeded.'],
      ['', 'Error 429: too many requests for A100 machines list'],
      ['RESOURCE_EXHAUSTED', 'Too many requests'],
      ['', "Quota exceeded for quota group 'ReadGroup' and limit 'Read requests per 100 seconds'"],
      [
        'OperationNotAllowed',
        'The server rejected the request because too many requests have been received for this subscription.',
      ],
      ['capacity_exhausted', 'too many requests, slow down'],
    ],
  },
  {
    category: 'other',
    reason: 'Money or price.',
    failures: [
      [
        'SpotMaxPriceTooLow',
        'Your Spot request price of 0.1 is lower than the minimum required Spot request fulfillment price of 2.1.',
      ],
      ['', 'Insufficient balance to create pod. Please add funds.'],
      ['', 'You have reached your spending limit for serverless workers'],
      ['', 'insufficient funds'],
      ['payment_required', '402 Payment Required: add a card'],
      ['', 'Your balance is too low to deploy this pod'],
      ['', '{"success":false,"error":"invalid_price","msg":"bid too low"}'],
    ],
  },
  {
    category: 'other',
    reason: 'A running machine was taken back.',
    failures: [
      ['Server.SpotInstanceTermination', 'Server.SpotInstanceTermination: Spot instance termination'],
      ['Preempted', 'Preempted by pod ns-b/high on node gpu-3'],
      ['Preempted', 'Preempted to accommodate a workload (UID: 1) due to prioritization in the ClusterQueue'],
      ['', 'Instance preempted: compute.instances.preempted'],
      ['', 'spot interruption notice received for i-0abc'],
      ['SpotEvicted', 'VM was evicted'],
      ['', 'Instance gpu-run-17 was preempted'],
    ],
  },
  {
    category: 'other',
    reason: 'A quota or shortage of something that is no GPU.',
    failures: [
      ['QuotaFailure', 'compute.instance.non-gpu.vcpu: quota exceeded, limit 64, requested 96'],
      [
        'VM_MIN_COUNT_NOT_REACHED',
        "Requested minimum count of 4 VMs could not be created. QUOTA_EXCEEDED: Quota 'DISKS_TOTAL_GB' exceeded.",
      ],
      [
        '422',
        '{"id":"unprocessable_entity","message":"creating this/these droplet(s) will exceed your droplet limit"}',
      ],
      ['', "Quota 'PREEMPTIBLE_CPUS' exceeded. Limit: 0.0"],
      ['', 'account is limited to 2 instances'],
      ['QuotaFailure', 'compute.instance.non-gpu.memory: quota exceeded, limit 100, requested 200'],
      ['Evicted', 'Pod ephemeral local storage usage exceeds the total limit of containers 10Gi.'],
    ],
  },
  {
    category: 'other',
    reason: 'Names, states, parameters and outages.',
    failures: [
      ['NotFound', 'image computeimage-e00abc not found'],
      ['InternalFailure', 'Service internal failure'],
      [
        '',
        "Error: Error creating instance: googleapi: Error 409: The resource 'projects/p/zones/z/instances/x' already exists, alreadyExists",
      ],
      ['', 'The instance failed its health check. See docs on insufficient capacity for help.'],
      ['InvalidResourceReference', 'resource referenced was not found'],
      ['', 'ClusterNotUpError: cluster is stopped'],
      ['InvalidLaunchTemplateName.NotFoundException', 'The specified launch template does not exist'],
    ],
  },
  {
    category: 'image_pull',
    reason: 'The image could not be fetched.',
    failures: [
      ['ImagePullBackOff', 'Back-off pulling image "registry/x:1"'],
      ['InvalidImageName', 'Failed to apply default image tag "x:::1": couldn\'t parse image reference'],
      [
        '',
        'Error response from daemon: pull access denied for x, repository does not exist or may require docker login',
      ],
      [
        '',
        'failed to resolve reference "registry.example.com/a:b": dial tcp: lookup registry.example.com: no such host',
      ],
      ['', 'Error: error pulling image configuration: download failed after attempts=6: EOF'],
      ['Failed', 'Error: ErrImagePull'],
      ['Failed', 'Failed to pull image "ghcr.io/x/y:z": denied: denied'],
    ],
  },
  {
    category: 'checkpoint',
    reason: 'A checkpoint could not be read or written.',
    failures: [
      ['', 'torch.save failed: checkpoint step-100 could not be written: No space left on device'],
      ['', 'Failed to read checkpoint shard 3 of 8: unexpected EOF'],
      ['', 'could not restore from checkpoint: file is truncated'],
      ['', 'Checkpoint shard 2 missing in s3://b/ckpt'],
      ['checkpoint_failed', ''],
      ['', 'Saving checkpoint failed: quota exceeded on /ckpt'],
      ['', 'checkpoint not found: s3://x/y'],
    ],
  },
  {
    category: 'application',
    reason: 'The program failed, or a service that it calls.',
    failures: [
      ['', 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\nKeyError: \'lr\''],
      ['', "ModuleNotFoundError: No module named 'flash_attn'"],
      ['', 'AssertionError: world size 8 is not divisible by tensor parallel 3'],
      ['application', 'insufficient capacity'],
      [
        '',
        'Events:\n  Warning  FailedScheduling  8m  default-scheduler  0/3 nodes are available: 3 Insufficient nvidia.com/gpu.\n  Normal  Scheduled  3m  default-scheduler  Successfully assigned ns/x to gpu-2\n  Warning  BackOff  10s  kubelet  Back-off restarting failed container main',
      ],
      ['', 'Previous attempt failed with quota exceeded. Current failure: application error in step 3'],
      ['', 'ValueError: The actor handle is invalid'],
    ],
  },
  {
    category: 'runtime',
    reason: 'The GPU stack or a machine that was already given.',
    failures: [
      ['', 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB'],
      ['', 'CUDA driver version is insufficient for CUDA runtime version'],
      ['', 'RuntimeError: Found no NVIDIA driver on your system.'],
      ['ContainerCannotRun', 'OCI runtime create failed'],
      ['', 'torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp'],
      ['', 'GPU 0000:3b:00.0: ECC double-bit error'],
      ['', 'nvidia-container-cli: device error: 3: unknown device'],
    ],
  },
  {
    category: 'auth',
    reason: 'The caller is not known.',
    failures: [
      ['UNAUTHENTICATED', 'token is expired'],
      [
        'SignatureDoesNotMatch',
        'The request signature we calculated does not match the signature you provided',
      ],
      [
        'NotAuthenticated',
        'The required information to complete authentication was not provided or was incorrect.',
      ],
      ['401', 'Unauthorized'],
      ['', 'credentials have expired, please log in again; quota exceeded'],
      ['', 'Unable to locate credentials'],
      ['InvalidAuthenticationTokenTenant', 'The access token is from the wrong issuer'],
    ],
  },
  {
    category: 'rbac',
    reason: 'The caller is not allowed.',
    failures: [
      [
        'PermissionDenied',
        'Permission denied: service account serviceaccount-e00a lacks compute.instances.create',
      ],
      ['403', '{"id":"Forbidden","message":"You do not have access for the attempted action."}'],
      ['', 'insufficient permissions to create instance'],
      ['', 'Service account does not have iam.serviceAccounts.actAs permission'],
      [
        '',
        'The user does not have access to service account "x". User: y. Ask a project owner to grant you the iam.serviceAccountUser role',
      ],
      [
        'FailedCreate',
        'Error creating: pods "x" is forbidden: error looking up service account ns/sa: serviceaccount "sa" not found',
      ],
      ['403', 'The user does not have permission to access project'],
    ],
  },
  {
    category: 'network',
    reason: 'The call did not arrive.',
    failures: [
      [
        'Unavailable',
        'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.1:443: connect: connection refused"',
      ],
      ['capacity_exhausted', 'read ECONNRESET while calling compute API'],
      ['', 'Temporary failure in name resolution'],
      ['', 'Network is unreachable'],
      [
        'FailedCreate',
        'Internal error occurred: failed calling webhook "x": Post "https://w.svc:443": dial tcp 10.0.0.1:443: connect: connection refused',
      ],
      ['', 'ssl.SSLCertVerificationError: unable to get local issuer certificate'],
      ['', 'curl: (6) Could not resolve host: api.lambdalabs.com'],
    ],
  },
  {
    category: 'cancelled',
    reason: 'Somebody took it back.',
    failures: [
      ['CANCELLED', 'operation computeoperation-000eee was cancelled by user'],
      ['canceled', ''],
      ['terminated_by_user', 'terminated by user'],
      ['', 'slurmstepd: error: *** STEP 9.0 ON gpu-3 CANCELLED AT 2026-02-02T02:02:02 ***'],
      ['', 'allocation cancellation requested'],
      ['NotEnoughResources', 'operation computeoperation-1 was cancelled while waiting for hardware'],
      ['', 'Cancelled by scheduler operator while queued for capacity'],
    ],
  },
  {
    category: 'timeout',
    reason: 'A wait ended by time.',
    failures: [
      ['OSProvisioningTimedOut', "OS Provisioning for VM 'gpu-run-17' did not finish in the allotted time."],
      ['EvictedDueToPodsReadyTimeout', 'Exceeded the PodsReady timeout'],
      ['', 'gave up waiting for instance after 900s: timeout waiting for SSH'],
      ['', 'wait timed out before an H100 became free'],
      ['NotEnoughResources', 'timed out'],
      ['ZONE_RESOURCE_POOL_EXHAUSTED', 'timed out waiting for operation'],
      ['TimedOut', ''],
    ],
  },
];

const rows = REAL_MESSAGES.flatMap(({ category, reason, failures }) =>
  failures.map(([code, message]) => ({ category, reason, code, message })),
);

test.each(rows)('$category: $code $message ($reason)', ({ category, code, message }) => {
  expect(classify({ code, message }).category).toBe(category);
});
