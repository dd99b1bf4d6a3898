import type { QualifyingCategory } from './category.ts';

export interface ShortagePhrase {
  readonly id: string;
  readonly category: QualifyingCategory;
  readonly pattern: RegExp;
  /** Where the grammar of the phrase puts what it is about. */
  readonly subject: 'before' | 'after';
  /** Whether the phrase counts when no resource is named; `silent` ones need a GPU. */
  readonly unnamed: 'counts' | 'silent';
  /** How near the subject must stand, in characters, where that is less than a sentence. */
  readonly reach?: number;
  /** Set where the phrase itself contains a name, which is masked in the words. */
  readonly readsNames?: true;
  readonly reason: string;
}

/** A whole word or phrase: no letter or digit may touch it. */
export const phrase = (source: string): RegExp => new RegExp(`(?<!\\w)(?:${source})(?!\\w)`, 'g');

/** Up to n words of the same clause. */
const some = (n: number) => `(?: [^\\s.;:,]{1,80}){0,${n}}?`;
/** The same without a preposition, behind which the sentence speaks of something else. */
const direct = (n: number) => `(?: (?!(?:for|on|in|to|at|of|by|with)(?!\\w))[^\\s.;:,]{1,80}){0,${n}}?`;
const BE = '(?: (?:is|was|are|were|be|has been|have been|currently|temporarily|already))*';
const MACHINES =
  '(?:instances?|gpus?|machines?|hosts?|offers?|servers?|accelerators?|workers?|vms?|compute|hardware)';

/** Phrases that something ran short, in the order in which they name the category (fallback 2.1 rule 7). */
export const SHORTAGE_PHRASES: readonly ShortagePhrase[] = [
  {
    id: 'gpu-resource',
    category: 'unschedulable_gpu',
    pattern:
      /(?<!\w)(?:(?<!quota insufficient: )insufficient |devices? (?:un|not )available for |enough resources?: |no devices match request: )(?=(?:requests\.)?[a-z0-9.-]{1,80}\/\S)/g,
    subject: 'after',
    unnamed: 'silent',
    readsNames: true,
    reason: 'The scheduler names a device plugin resource.',
  },
  {
    id: 'quota-exceeded',
    category: 'quota_exhausted',
    pattern: phrase(
      `quotas?(?: limits?)?(?: [^\\s.;]{1,100}){0,5}?${BE} (?:exceeded|exhausted|reached|` +
        `depleted|used up|full|insufficient|too (?:low|small)|not (?:sufficient|enough))|quota[- ](?:exceeded|exhausted|exhaustion|shortfall|` +
        `shortage)`,
    ),
    subject: 'before',
    unnamed: 'counts',
    reason: 'A quota is said to be used up.',
  },
  {
    id: 'exceeds-quota',
    category: 'quota_exhausted',
    pattern: phrase(
      `(?:exceed(?:s|ed|ing)?|over|above|reached|hit)${some(6)} quotas?|(?:not|(?<=n')t) fit${some(5)} quotas?`,
    ),
    subject: 'after',
    unnamed: 'counts',
    reason: 'The request would exceed a quota.',
  },
  {
    id: 'no-quota',
    category: 'quota_exhausted',
    pattern: phrase(
      `(?:insufficient|not enough|no|zero|out of|lacks?|lacking|` +
        `without)${some(3)} quotas?(?! (?:project|user))|quotas?(?: (?:of|for)${some(3)})? (?:is|of)(?: only)? (?:0(?![\\d.]*[1-9])|zero)`,
    ),
    subject: 'after',
    unnamed: 'counts',
    reason: 'There is no quota, or too little of it, for what was asked.',
  },
  {
    id: 'resource-exhausted',
    category: 'quota_exhausted',
    pattern: phrase(`resources?${BE} exhausted(?! on \\d+ nodes?)`),
    subject: 'after',
    unnamed: 'counts',
    reason: 'The wording of gRPC, which providers use for quotas.',
  },
  {
    id: 'quota-failure',
    category: 'quota_exhausted',
    pattern: phrase(
      'quotas? allows?(?: for)?(?: only| up to)? (?:\\d+|no|zero)|quota (?:failure|violation|' +
        'check failed|check failure|validation failed|error)|requested(?: \\S{1,40}){1,6}? but(?: \\S{1,40}){0,4}? (?:quota|limit) is(?: only)? \\d+|' +
        "(?:not|(?<=n't)) fit in(?:to)?(?: the)? queue",
    ),
    subject: 'after',
    unnamed: 'silent',
    reason: 'A quota check failed, which says something only together with the quota.',
  },
  {
    id: 'limit-reached',
    category: 'quota_exhausted',
    pattern: phrase(
      `limits?${BE} (?:exceeded|reached|hit)|limits? (?:for|of|on)(?: \\S{1,60}){1,5}?${BE} (?:exceeded|reached|0|zero)|limit_(?:reached|exceeded)|(?:exceed(?:s|ed|ing)?|` +
        `over|above|reached|hit)${some(5)} (?:limits?|(?:maximum|max)(?! (?:\\S{1,20} )?(?:time|duration|run ?time|age|bid|price|cost|length))(?: number| count| amount)?|` +
        `allotment|allowance|entitlement)(?: for| of)?|limit of \\d+|limit(?::|=| is)? ?0|` +
        `(?:maximum|max)(?: number| count| amount)? of(?: [^\\s.;:,]{1,40}){1,4}?${BE} (?:reached|exceeded|hit)|` +
        `(?:may|can|allowed to) (?:use|have|run) (?:at most|only|up to|no more than) \\d+`,
    ),
    subject: 'before',
    unnamed: 'silent',
    reason: 'A limit counts only when it is one of GPUs.',
  },
  {
    id: 'insufficient-capacity',
    category: 'capacity_exhausted',
    pattern: phrase(
      `insufficient${direct(5)} (?:capacity|resources?|inventory|stock|availability|${MACHINES})|` +
        `(?:not|(?<=n')t)(?: currently)?(?: have| having)? (?:enough|sufficient|` +
        `adequate)${direct(5)} (?:capacity|resources?|inventory|stock|${MACHINES})|` +
        `(?:not|(?<=n')t)(?: currently)? have (?:the|any|available|free)${some(2)} (?:capacity|resources?|` +
        `inventory|stock|gpus?)|` +
        `no(?! instance types?)${some(3)} (?:has|have|with) (?:enough|` +
        `sufficient)${some(2)} (?:capacity|resources?|${MACHINES})|too few${some(3)} (?:resources|` +
        `${MACHINES})`,
    ),
    subject: 'after',
    unnamed: 'counts',
    reason: 'There is less than what was asked for.',
  },
  {
    id: 'no-capacity',
    category: 'capacity_exhausted',
    pattern: phrase(
      `(?:no|zero)(?! (?:response|reply|answer|data|information|error|permission|longer|` +
        `problem|shortage|lack))${some(3)} capacity(?! (?:problem|issue|check|advice|data|information|` +
        `reservation|changes?|limits?|constraints?|planning|update))|out of${some(2)} capacity|(?<!no )(?:lack|shortage|` +
        `absence) of${some(3)} (?:capacity|gpus?)|(?:capacity|gpu|hardware) (?:shortage|shortfall|` +
        `crunch)`,
    ),
    subject: 'after',
    unnamed: 'counts',
    reason: 'There is no capacity.',
  },
  {
    id: 'capacity-unavailable',
    category: 'capacity_exhausted',
    pattern: phrase(
      `(?:capacity|resource pool|resources|inventory|supply|stock|availability)${BE}(?: currently|` +
        ` temporarily)? (?:unavailable|exhausted|depleted|constrained|limited|not available|` +
        `insufficient|unfulfillable)|` +
        `(?:capacity|resource pool|inventory|stock) (?:for|of|in)${some(4)}${BE} (?:unavailable|exhausted|depleted|not available|insufficient)|exceeds?(?: the)? available capacity|(?:unable|failed|not able|cannot|` +
        `could not) (?:to )?ful[- ]?fill?(?: the| your)?${some(3)} (?:capacity|request)|` +
        `(?:unable|failed|not able|cannot|could not) (?:to )?(?:provision|obtain|secure|acquire)${some(4)} capacity|` +
        `not enough availability|waiting for capacity|waiting_for_capacity|awaiting capacity|` +
        `capacity queue`,
    ),
    subject: 'before',
    unnamed: 'counts',
    reason: 'The capacity itself is the subject.',
  },
  {
    id: 'out-of-stock',
    category: 'capacity_exhausted',
    pattern: phrase(
      `out of (?:resources|stock|hosts|gpus|instances|nodes|machines|inventory)|out-of-stock|` +
        `sold[- ]out|stock-?outs?|stocked out|no stock|fully booked`,
    ),
    subject: 'before',
    unnamed: 'counts',
    reason: 'The stock is gone.',
  },
  {
    id: 'at-capacity',
    category: 'capacity_exhausted',
    pattern: phrase('at (?:full |max(?:imum)? )?capacity'),
    subject: 'before',
    unnamed: 'silent',
    reason: 'A service can be at capacity too, so a GPU must be named.',
  },
  {
    id: 'group-at-maximum',
    category: 'capacity_exhausted',
    pattern: phrase('max(?:imum)? node ?(?:group|pool) size (?:was )?reached'),
    subject: 'before',
    unnamed: 'counts',
    reason: 'The autoscaler may add no further node for the pod.',
  },
  {
    id: 'none-available',
    category: 'capacity_exhausted',
    pattern: phrase(
      `(?:no|zero|not any|0)(?: longer any| more| other| free| idle| spare| suitable| on-demand|` +
        ` such)*${some(2)} ${MACHINES}(?! types?)${some(6)} (?:available|left|free|remaining)|` +
        `(?:no|zero)${some(2)} gpus? found|` +
        `(?:no|zero) (?:free|available|idle|spare|remaining)${some(2)} ${MACHINES}(?! types?)|` +
        `no${some(2)} hosts? left|no room (?:left )?for|no offers?(?: found| available)?|(?:ran|` +
        `run|running) out of ${MACHINES}`,
    ),
    subject: 'after',
    unnamed: 'counts',
    reason: 'No machine is there to be had.',
  },
  {
    id: 'all-taken',
    category: 'capacity_exhausted',
    pattern: phrase(
      `all(?: \\S{1,30}){0,5}? (?:are|is)(?: currently| already)? (?:in use|busy|taken|allocated|occupied|` +
        `claimed|booked)|requested nodes? (?:are|is) busy|(?:0|none|only \\d+)(?: out)? of(?: the)? \\d+(?: \\S{1,30}){0,3}? (?:could be|were|` +
        `are) (?:allocated|provisioned|available|free|placed)|only \\d+(?: \\S{1,20})?(?: are)? (?:free|` +
        `available|left|remaining)|(?:cannot|could not|unable to|failed to) (?:allocate|acquire|reserve|` +
        `secure)${some(4)} ${MACHINES}|no (?:nodes?|hosts?|servers?)(?: (?:is|are|were|currently))* (?:available|free|left) (?:with|having|that ha(?:s|ve))|wait-?listed|(?:could not|cannot|unable to|failed to|couldn't|` +
        `did not) find(?: \\S{1,30}){0,3}? (?:nodes?|hosts?|machines?|servers?|capacity) (?:with|for|having)`,
    ),
    subject: 'after',
    unnamed: 'silent',
    reason: 'Every machine is taken, or too few are free; it must be said that these are GPUs.',
  },
  {
    id: 'no-such-left',
    category: 'capacity_exhausted',
    pattern: phrase(
      'no(?: (?!longer|more)[^\\s.;:,]{1,60}){1,3}?(?: (?:are|is)(?: currently)?)? (?:available|free|left|remaining)',
    ),
    subject: 'after',
    unnamed: 'silent',
    reach: 1,
    reason: 'The words between must name the GPU, or whatever else is gone: `No H100s are available`.',
  },
  {
    id: 'demand-exceeds-supply',
    category: 'capacity_exhausted',
    pattern: phrase(
      `demand(?: for)?${some(3)}(?: currently)? exceed(?:s|ed) (?:the )?(?:supply|capacity|availability)|` +
        '(?:no|zero)(?: current)? (?:inventory|availability)',
    ),
    subject: 'after',
    unnamed: 'silent',
    reach: 40,
    reason: 'More is asked for than is there; services say this too, so a GPU must be named.',
  },
  {
    id: 'none-of-these',
    category: 'capacity_exhausted',
    pattern: phrase('none(?: (?:is|are|currently))* (?:available|left|free)'),
    subject: 'before',
    unnamed: 'silent',
    reach: 40,
    reason: 'A list of stocks: `On-demand H100: none available`.',
  },
  {
    id: 'no-placement',
    category: 'capacity_exhausted',
    pattern: phrase(
      '(?:no|not find (?:any|a)|find no)(?: \\S{1,30}){0,2}? placements?|(?:not|' +
        'cannot) be placed|no place for',
    ),
    subject: 'after',
    unnamed: 'counts',
    reason: 'The provider looked for a host and found none.',
  },
  {
    id: 'no-longer-available',
    category: 'capacity_exhausted',
    pattern: phrase(
      '(?:instances?|gpus?|machines?|offers?|vms?)(?: \\S{1,40}){0,4}? (?:are|is|were|' +
        'was) (?:(?:no longer|currently not|not currently) available|(?:currently|all|' +
        'temporarily) unavailable)',
    ),
    subject: 'before',
    unnamed: 'counts',
    reason: 'The machines that were offered are gone.',
  },
  {
    id: 'types-unavailable',
    category: 'capacity_exhausted',
    pattern: phrase(
      `(?:sizes?|skus?|shapes?|instance types?|machine types?|gpu types?|droplets?|` +
        `presets?)(?: \\S{1,60}){0,8}? (?:(?:currently|temporarily|all)(?: not available|` +
        ` unavailable)|unavailable)`,
    ),
    subject: 'before',
    unnamed: 'counts',
    reason: 'The type that was asked for is out at the moment.',
  },
  {
    id: 'currently-unavailable',
    category: 'capacity_exhausted',
    pattern: phrase(
      '(?:currently|temporarily|presently) (?:not available|unavailable)|' +
        'not available (?:right now|at this time|at the moment)|' +
        'unavailable due to(?: high)? demand|(?:all|types) unavailable|due to high demand|(?:is|' +
        'are) unavailable',
    ),
    subject: 'before',
    unnamed: 'silent',
    reason: 'Services are unavailable too, so a GPU must be named.',
  },
  {
    id: 'short-of',
    category: 'capacity_exhausted',
    pattern: phrase(
      'insufficient|not enough|not sufficient|out of(?! (?:range|bounds|date|sync|order|scope|service))|no (?:more|free|available|remaining|spare|' +
        'idle)|lacks?|lacking|lack of|low on(?: resources?:)?|too few|no space left on|exhausted',
    ),
    subject: 'after',
    unnamed: 'silent',
    reach: 30,
    reason: 'Whatever is short must be named next to the word.',
  },
  {
    id: 'unschedulable',
    category: 'unschedulable_gpu',
    pattern: phrase(
      `(?:pods?|jobs?|workloads?|tasks?|replicas?)${some(6)} unschedulable|(?<=^|: )unschedulable`,
    ),
    subject: 'after',
    unnamed: 'counts',
    reason: 'A pod or job, not a node, cannot be scheduled.',
  },
  {
    id: 'cannot-be-scheduled',
    category: 'unschedulable_gpu',
    pattern: phrase('(?:cannot|can.t|could not|couldn.t) be scheduled'),
    subject: 'after',
    unnamed: 'silent',
    reason: 'Ray and other schedulers; what they cannot schedule must be a GPU.',
  },
  {
    id: 'no-matching-product',
    category: 'no_compatible_product',
    pattern: phrase(
      `no (?:matching|compatible|suitable|supported|such)${some(3)} (?:products?|gpus?|` +
        `offerings?|offers?|skus?|shapes?|instance types?|flavou?rs?|hardware)|` +
        `none of \\S{1,40} (?:offers|offerings|products)${some(3)} match|no${some(2)} (?:products?|` +
        `offerings?|offers?|flavou?rs?|skus?|shapes?) (?:match\\w*|satisf\\w+|compatible)`,
    ),
    subject: 'after',
    unnamed: 'counts',
    reason: 'No product fits the request.',
  },
  {
    id: 'no-instance-type',
    category: 'no_compatible_product',
    pattern: phrase(
      `no${some(2)} instance types?(?: which| that)?${some(2)} (?:met|meets?|satisf\\w+|` +
        `match\\w*|support\\w*|fulfil\\w*|has|have|fits?|with)`,
    ),
    subject: 'after',
    unnamed: 'counts',
    reason: 'Karpenter and autoscalers: no type meets the requirements.',
  },
  {
    id: 'no-node-type',
    category: 'no_compatible_product',
    pattern: phrase(
      'no available node types? can fulfil\\w*|no resources? satisfy(?:ing)?|' +
        'not contain any instances satisfying|requested node configuration is not available|' +
        `no${some(2)} nodes?${some(3)} (?:match|satisfy|fulfil)\\w*|(?:no|none of the) (?:nodes?|pools?|` +
        `zones?|regions?) (?:has|have|offers?|provides?|carr(?:y|ies)) (?:the requested|label|such)|` +
        `no (?:node )?(?:nodes?|pools?|zones?|regions?) (?:offers?|provides?|supports?)|machine types? with name|` +
        `invalid (?:instance|machine|gpu) type`,
    ),
    subject: 'after',
    unnamed: 'silent',
    reason: 'A catalogue or scheduler has nothing of that kind; it must be a GPU that was asked for.',
  },
  {
    id: 'not-offered',
    category: 'no_compatible_product',
    pattern: phrase(
      `not (?:supported|offered|available|allowed|enabled)(?: \\S{1,20}){0,2}? (?:in|` +
        `for|on) (?:your |the |this |that |any (?:enabled )?)?(?:\\S{1,30} ){0,3}?(?:availability zone|zone|region|` +
        `location|datacenter|data center|subscription|area|cloud|provider)|not (?:supported|offered|` +
        `available)(?: on \\S{1,30})? in ~+|notavailableforsubscription`,
    ),
    subject: 'before',
    unnamed: 'silent',
    reason: 'The GPU type is not sold there.',
  },
  {
    id: 'size-not-offered',
    category: 'no_compatible_product',
    pattern: phrase(
      '(?:size|sku|shape|instance type|machine type|product|gpu type|plan|' +
        'gpu model)(?: \\S{1,40})? is not (?:available|offered|supported|sold) (?:in|for)',
    ),
    subject: 'before',
    unnamed: 'counts',
    reason: 'A size that is not sold in the region, whatever its name.',
  },
  {
    id: 'type-not-found',
    category: 'no_compatible_product',
    pattern:
      /\/(?:acceleratortypes\/|machinetypes\/(?:a[2-4]x?-|g[24]-))[\w-]{1,60}["']? (?:was not found|does not exist)/g,
    subject: 'before',
    unnamed: 'counts',
    readsNames: true,
    reason: 'The zone does not know the accelerator or GPU machine type.',
  },
];
