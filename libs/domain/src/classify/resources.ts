/**
 * What a quota or a shortage is about (fallback 2.3): `gpu` counts, `other` does not. `gpu_family` is the
 * machine family or type of a GPU, which turns a quota of `cpu` into one of GPUs; `cpu_machine` is a family
 * or type without GPUs.
 */
export type Resource = 'gpu' | 'gpu_family' | 'gpu_model' | 'cpu' | 'cpu_machine' | 'other';

interface ResourceNouns {
  readonly resource: Resource;
  /** Read as whole words; the first row that matches at a position names it. */
  readonly nouns: string;
  readonly reason: string;
}

/** Machine types without a GPU, as the clouds name them. */
const CPU_MACHINES =
  '(?:(?:ml\\.)?[acdhilmrtuxz]\\d[a-z]*|is4gen|im4gn|mac\\d\\S*|hpc\\S+)\\.(?:\\d{0,2}x?large|medium|' +
  'small|micro|nano|metal\\S*)|(?:n[124]d?|e2|c[234]d?|t2[ad]|m[1234]|f1|z3|h3)-(?:standard|' +
  'highmem|highcpu|micro|small|medium|megamem|ultramem)\\S*|standard_[a-mo-z]\\S*|(?:vm|' +
  'bm)\\.(?:standard|dense|optimized|hpc)\\S*|[sc]-\\d+vcpu\\S*';

const RESOURCE_NOUNS: readonly ResourceNouns[] = [
  {
    resource: 'other',
    nouns:
      'gpu (?:memory|ram|mem|vram|driver|disk|cache|metrics?|utili[sz]ation|clusters? (?:count|' +
      'quota|limit))|gpu clusters(?= (?:exceeded|exhausted|reached))|(?<=number of )gpu clusters|gpu_memory\\w*|gpucluster\\.count|compute\\.gpucluster\\S*|' +
      'placement group\\w*',
    reason: 'A part or a group of GPUs is not a GPU.',
  },
  {
    resource: 'other',
    nouns:
      'compute\\.(?:disk|instance\\.(?:count|preemptible|non-gpu)|image|snapshot|filesystem)\\S*|' +
      'vpc\\.\\S+|storage\\.\\S+|mk8s\\.\\S+',
    reason: 'Nebius quotas of other things.',
  },
  {
    resource: 'gpu',
    nouns:
      '(?:requests\\.|limits\\.)?(?:nvidia\\.com/(?:v|p)?gpu\\S*|nvidia\\.com/mig-\\S*|' +
      'amd\\.com/gpu\\S*|gpu\\.intel\\.com/\\S+|[a-z0-9.-]+/v?gpu\\S*)',
    reason: 'GPU resources of Kubernetes device plugins.',
  },
  {
    resource: 'gpu',
    nouns:
      'n?gpus?|v?gpu_(?:type|count|name|model|family)s?|gpu\\d?-(?:\\w+-)?count|bm-gpu\\S*-count|' +
      'vm-gpu\\S*-count|gres[/:]gpu\\S*|gpu:\\S+|accelerators?|accelerator(?:_?type|_count)\\S*|' +
      'acceleratortypes?\\S*|nvidia[\\w-]*|compute\\.instance\\.gpu\\.\\w+|' +
      '[a-z.]+\\.googleapis\\.com/\\w*(?:nvidia|gpu)\\w*|' +
      '\\w*nvidia_\\w+_gpus?\\w*|\\w*gpusper\\w*|\\w*gpus_\\w+|\\w+_gpus|(?:on_?demand|spot|' +
      'preemptible)_?gpus?\\w*|\\d{1,2}x?gpus?',
    reason: 'GPUs by name, GCP metrics, SLURM gres, OCI limits.',
  },
  {
    resource: 'gpu_family',
    nouns:
      '(?:(?:(?:\\w[\\w-]{0,20}/)?ml\\.)?p[2-9][a-z]*(?:-[a-z]\\d{3})?|(?:ml\\.)?g[3-9][a-z]*|gr\\d[a-z]*)\\.(?:\\d{0,2}xlarge|metal\\S*)|' +
      '(?:p[2-6]|g[3-7])[a-z]{0,3} (?:instances?|family)|running on-demand (?:p|g)\\w* instances|all (?:p|g)(?: and vt)? (?:spot )?instance\\w*|' +
      '(?:a[2-4]x?)-(?:highgpu|ultragpu|megagpu|edgegpu|maxgpu)-\\w+|g[24]-standard-\\d+|' +
      '(?:preemptible_)?(?:a[2-4]|g[24])_cpus|' +
      'standard[ _-]?n[cdgv][a-z0-9_-]*(?: family)?|' +
      'n[cdgv](?:[a-z0-9_]{0,40}[a-z0-9])?[ _-]?(?:series|family)|(?:vm|bm)\\.gpu[\\w.]*',
    reason: 'GPU machines: AWS p and g, GCP a2-a4 and g2, Azure NC, ND, NG, NV, OCI *.GPU.*.',
  },
  {
    resource: 'gpu_model',
    nouns:
      '(?:gpu[-_])?(?:\\d{1,2}x[-_ ]?)?(?:nvidia[-_ ])?(?:tesla[-_ ])?(?:g?[bhr][1-9]00|' +
      'h20|h800|a800|a100|a10g?|a16|a30|a40|a[2456]000|rtx[-_ ]?(?:pro[-_ ]?)?a?\\d{4}\\w*|' +
      'gtx[-_ ]?\\d{4}\\w*|geforce\\w*|quadro\\w*|l4|l40s?|t4|v100s?|p100|k80|m60|mi\\d{3}[ax]?|' +
      'gh200|hopper|blackwell)(?:x\\d{1,2}|s)?(?:[-_](?!run|job|pod|train|test|worker|' +
      'eval)[a-z0-9_-]+)?|gpu-(?:[a-z]+-)?[a-z]*\\d\\w*x\\d\\S*|gpu\\.[a-z]{0,2}\\d\\w*(?:\\.\\w+)*|gpu-(?:standard|' +
      '[a-z]\\d{2,3})\\S*',
    reason: 'GPU models, alone or in the name of a platform or accelerator type.',
  },
  {
    resource: 'cpu',
    nouns:
      'v?cpus?|cores|memory|ram|requests\\.cpu|limits\\.cpu|requests\\.memory|limits\\.memory|' +
      'instances? count|instance limit|running instances?(?:\\(s\\))?|number of instances',
    reason: 'CPU, memory and instances as such, unless the family named with them is one of GPUs.',
  },
  {
    resource: 'cpu_machine',
    nouns: CPU_MACHINES,
    reason: 'Machine types without a GPU.',
  },
  {
    resource: 'cpu_machine',
    nouns:
      '\\w+cores|\\w+_cpus|\\w*cpusper\\w*|\\w*cpus_\\w+|standard-[a-z]\\d-(?:core|memory)\\S*|' +
      'standard[a-z0-9_-]*family|total regional',
    reason: 'CPU quotas of a family or of everything.',
  },
  {
    resource: 'other',
    nouns:
      'disks?(?!=\\d)|volumes?|snapshots?|storage|nfs(?: shares?)?|file shares?|filestore|lustre|efs|fsx|object stores?|' +
      'ephemeral[- ]storage|file ?systems?|ssd\\w*|' +
      '[a-z]{2,12}[-_]ssd\\w*|pd-\\w+|hdds?|disk[-_]\\w+|disks_\\w+|ssd_\\w+|local_ssd\\w*|' +
      '\\w*storage\\w*|inodes?|nvme(?: \\w+)?|boot disk|space(?! for)|no space|block devices?|backups?|registr(?:y|ies)|' +
      'images?(?= (?:storage|quota|limit|file))|machine images?|buckets?|' +
      '[a-z0-9]+(?:-[a-z0-9]+)*-(?:count|gb|tb|size|capacity-gb)|(?<=[\'"])instances(?=[\'"](?! ?:))',
    reason: 'Disks, files and images.',
  },
  {
    resource: 'other',
    nouns:
      'ip(?:v[46])?(?:[ -](?:addresses|address|space|range))?s?|public ip\\S*|address(?:es)?|' +
      'address space|in_use_addresses\\w*|static_addresses|ip space|subnets?|subnetworks?|' +
      'networks|network (?:interfaces?|quota|endpoints?)|enis?|ports?|bandwidth|load balancers?|' +
      'security groups?|elastic ip\\S*|vpcs?|routes?|firewalls?|nat',
    reason: 'Networks and addresses.',
  },
  {
    resource: 'other',
    nouns:
      'pods(?! (?:quota for gpu))|pod count|count/\\w+|hugepages\\S*|rdma/\\S+|' +
      '\\w[\\w.-]*/(?!v?gpu)(?:fuse|sriov\\S*|hostdev\\S*|kvm|tpu|devices?)|resource ?claims?|' +
      'all claims|persistentvolumeclaims?|configmaps|secrets|nodes quota|licen[cs]es?|' +
      'gres/(?!gpu)\\S+|fpgas?|tpus?|trainium\\w*|inferentia\\w*|(?<!gpu )droplets?|droplet limit|\\d+ clusters|' +
      'clusters? (?:count|quota|limit)|number of clusters|(?:ssh|api|access) keys?|key ?pairs?|seats?|' +
      '(?:e-?)?mails?|(?<!availability |fault )domains?(?!["\'] ?:)|(?:message|work|event|task) queues?|queue(?= capacity (?:is )?(?:exhausted|exceeded|reached))|in-sync replicas',
    reason: 'Other countable objects of a cluster or an account.',
  },
  {
    resource: 'other',
    nouns:
      '(?:hourly|daily|weekly|monthly)(?= (?:\\w+ )?(?:quotas?|limits?))|requests?(?= ?(?:per|rate|limit|quota|/|exceeded|for this subscription))|requests per|' +
      'api (?:calls?|requests?|rate|reads?|quota|limits?)|queries|' +
      '[a-z.]+\\.googleapis\\.com/\\w+|rate|rates|calls|read operations?|write operations?|' +
      'operations per|\\w*requestsper\\w*|read requests?|(?:grpc|received|rpc) message|' +
      'message size|payload|(?:kv[- _]?)?caches?|replay buffer|tokens?|token quota|credits?|balance|funds?|budget|billing|' +
      'spend(?:ing)?|money|payment|connections?|threads?|buffers?|file descriptors?|' +
      'file handles?|descriptors|sessions?|log (?:quota|volume|storage)|permissions?|scopes?|' +
      'privileges?',
    reason: 'Rates, money, tokens and whatever else runs out in software.',
  },
  {
    resource: 'other',
    nouns:
      'dashboards?|kafka \\w+|topic partitions?|swap(?: space)?|config ?maps?|rdma(?: \\w+)?|kvm(?: \\w+)?|' +
      'efa(?: interfaces?)?|(?:lambda|cloud|serverless) functions?|vpn(?: \\w+)?|kms(?: keys?)?|throughput|iops|' +
      'log groups?|(?<!quota )metrics|alerts?|alarms?|service accounts?|(?:iam )?roles|mailbox(?:es)?|tapes?|' +
      'replication slots?|wal segments?|shards?|search units?|heap(?: space)?|vector index(?:es)?|(?:row )?locks?|' +
      'semaphores?|sockets?|conntrack(?: \\w+)?|arp(?: table)?|vlans?|gateways|proxies|cdn|topics|templates|' +
      'queue messages?|(?:kubernetes|k8s|gke|eks|aks) clusters|' +
      'node groups?(?= (?:count|quota|limit|exceeded|reached))',
    reason: 'Objects of services, networks and programs, each with bounds of its own.',
  },
  {
    resource: 'other',
    nouns:
      '(?<=quota:? ["\'])[a-z]+(?:_[a-z0-9]+)*(?=["\'])|(?<=resource:? ["\'])(?<!(?:size|sku) for resource ["\'])[a-z]+(?:_[a-z0-9]+)*(?=["\'])|' +
      '(?<=approved )[a-z]\\w{0,80}(?= (?:cores )?quota)',
    reason: 'A metric that is named as such and that no row above knows as one of GPUs.',
  },
];

/** No noun is longer than this, and a bound keeps a long run of letters from being tried at every length. */
function bounded(nouns: string): string {
  return nouns.replace(/(\\[wS]|\[\^?[\w.-]+\])([*+])/g, (_, set: string, many: string) =>
    many === '*' ? `${set}{0,120}` : `${set}{1,120}`,
  );
}

// A hyphen, dot or slash next to a noun makes it part of a longer name, unless a row spells that name out.
const asWord = (nouns: string) => `(?<![\\w./-])(?:${bounded(nouns)})(?![\\w/-]|\\.\\w)`;
const NOUN = new RegExp(RESOURCE_NOUNS.map(({ nouns }) => `(${asWord(nouns)})`).join('|'), 'g');

export interface NamedResource {
  readonly resource: Resource;
  /** Where its name begins and ends in the text. */
  readonly at: number;
  readonly end: number;
}

/** The resources that a text names, in their order. */
export function resourcesIn(text: string): readonly NamedResource[] {
  return [...text.matchAll(NOUN)].flatMap((match) => {
    // Each row is one capturing group, so the first group that took part tells the row.
    const row = RESOURCE_NOUNS[match.findIndex((group, index) => index > 0 && group !== undefined) - 1];
    return row === undefined
      ? []
      : [{ resource: row.resource, at: match.index, end: match.index + match[0].length }];
  });
}

export function isGpu(resource: Resource): boolean {
  return resource === 'gpu' || resource === 'gpu_family' || resource === 'gpu_model';
}

/** Whether a GPU thing is named (fallback 2.4, condition `gpu`). */
export function namesGpu(resources: readonly NamedResource[]): boolean {
  return resources.some(({ resource }) => isGpu(resource));
}

/** Whether machines are named, and only ones without a GPU. */
export function namesOnlyCpuMachines(resources: readonly NamedResource[]): boolean {
  return resources.some(({ resource }) => resource === 'cpu_machine') && !namesGpu(resources);
}
