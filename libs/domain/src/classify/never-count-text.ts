import type { NeverCountCategory } from './category.ts';
import { NEVER_COUNT_CATEGORIES } from './category.ts';

interface NeverCountText {
  readonly category: NeverCountCategory;
  readonly pattern: RegExp;
  /** Set where the phrase itself contains a name, which is masked in the words. */
  readonly readsNames?: true;
  readonly reason: string;
}

/** A whole word or phrase: no letter or digit may touch it. Names were masked before. */
const phrase = (source: string) => new RegExp(`(?<!\\w)(?:${source})(?!\\w)`);

/** Phrases that keep a failure from counting, also beside a placement code (fallback 2.1 rule 2). */
const NEVER_COUNT_TEXTS: readonly NeverCountText[] = [
  {
    category: 'image_pull',
    pattern: phrase(
      'failed to pull|failed pull(?:ing)?|failing to pull|(?:error|failure|problem) (?:while |' +
        'when )?pulling|' +
        'while pulling (?:(?:the|an?|container|docker) )*(?:image|layer)|back-?off pulling|(?:could not|cannot|unable to|failed to) (?:pull|fetch|resolve|download|' +
        'unpack|extract|inspect) ' +
        '(?:the |and unpack |container |docker )*(?:image|images|manifest|layer|reference|anonymous token)|' +
        '(?:image|images)(?: \\S{1,40}){0,2} (?:pull|pulling)(?: \\S{1,20}){0,2} (?:failed|failure|' +
        'error|timed out|denied)|' +
        'image[ -]pull (?:failed|failure|error|back-?off)|pull (?:failed|failure|error|access denied)|' +
        '(?:layer|blob|manifest|image) (?:download|extraction|fetch|pull) (?:failed|failure|error)|' +
        'layer (?:\\S{1,90} )?(?:failed|could not)(?: to| be)? (?:extract|download|unpack|verif)\\w*',
    ),
    reason: 'Fetching the image failed.',
  },
  {
    category: 'image_pull',
    pattern: phrase(
      'manifest unknown|manifest (?:for )?\\S{1,300} (?:was )?not found|no matching manifest|' +
        'manifest invalid|reading manifest|name unknown|' +
        'pull rate limit|failed to resolve reference|invalid reference format|parse image reference|' +
        'image name is invalid|(?:image|tag|digest)(?: \\S{1,200})? (?:(?:was |is )?not found|does not exist|' +
        'missing) (?:in|from|on) (?:the )?(?:registry|repository)|repository (?:does not|doesn.t) exist|failed to register layer',
    ),
    reason: 'Words that only a registry or an image store uses.',
  },
  {
    category: 'checkpoint',
    pattern: phrase(
      '(?:failed|failure|unable|error|errors|could not|couldn.t|cannot|can.t|not able)(?: to| in|' +
        ' while| when| during| by)? ' +
        '(?:be )?(?:sav|writ|load|read|restor|resum|open|upload|download|serializ|deserializ|find|' +
        'fetch|sync|persist|creat)\\w*' +
        '(?: \\S{1,40}){0,3}? (?:checkpoints?|ckpt)',
    ),
    reason: 'Reading or writing a checkpoint failed.',
  },
  {
    category: 'checkpoint',
    pattern: phrase(
      '(?:sav|writ|load|read|restor|upload|download|serializ|deserializ)ing(?: \\S{1,40}){0,3}? ' +
        '(?:checkpoints?|ckpt)(?: ~+)?(?=:| raised| threw)|no checkpoints? (?:was |were )?(?:found|available|' +
        'exists?)|(?:checkpoints?|ckpt)(?: \\S{1,30}){0,3}? (?:(?:is|are) full|out of space|quota exceeded)|' +
        '(?:while|when|during)(?: \\S{1,40}){0,3}? (?:wrote|writing|saved|saving|loaded|loading|reading|flushing|' +
        'uploading)(?: \\S{1,40}){0,2}? (?:checkpoints?|ckpt)|' +
        'resum(?:e|ing) (?:failed|failure|error)[^;]{0,60}(?:checkpoint|ckpt)',
    ),
    reason: 'The step that was under way with a checkpoint when the error came, or its full store.',
  },
  {
    category: 'checkpoint',
    pattern: phrase(
      '(?:checkpoints?|ckpt)(?: \\S{1,80}){0,5}? (?:failed|failure|errors?|corrupt|corrupted|' +
        'corruption|could not|cannot|' +
        'unreadable|incomplete|truncated|missing|mismatch|mismatched|not found|does not exist|' +
        'no space left)|' +
        'checkpoint (?:failed|error)|corrupt(?:ed)? checkpoint|missing checkpoint|invalid checkpoint|' +
        'no space left on device[^;]{0,120}(?:checkpoint|ckpt)|in loading state_dict|' +
        'size mismatch for|\\w*safetensors?(?:error|_rust)?|pytorchstreamreader|headertoolarge',
    ),
    reason: 'A checkpoint is named as what failed.',
  },
  {
    category: 'application',
    pattern: phrase(
      'traceback|application (?:error|failed|failure|crashed|exited)|unhandled exception|' +
        'uncaught exception|' +
        'back-?off(?: \\S{1,20})? restarting|restarting failed container|crash ?loop|' +
        'exited with (?:non-?zero|status|exit|code|return|error)|(?:exit|return) code|exit status|' +
        'panic(?=: )|core dumped by|back-?off limit',
    ),
    reason: 'The program of the workload ended by itself.',
  },
  {
    category: 'application',
    pattern: phrase(
      '(?:program|script|process|trainer|training|application|worker|entrypoint|command)(?: \\S{1,20})? ' +
        '(?:has )?(?:crashed|died|panicked)|loss (?:is|was|became) (?:nan|inf\\w*)|nan loss',
    ),
    reason: 'The program of the workload is named as what failed.',
  },
  {
    category: 'application',
    pattern: phrase(
      '(?:key|value|type|assertion|modulenotfound|import|index|attribute|name|filenotfound|syntax|zerodivision|' +
        'notimplemented|jsondecode|unicodedecode|recursion|indentation|ratelimit|badrequest)error|' +
        'nullpointerexception|illegalargumentexception|no module named',
    ),
    reason: 'An exception that only a program raises.',
  },
  {
    category: 'application',
    pattern: phrase(
      '(?:sqlalchemy|openai|anthropic|huggingface_hub|transformers|vllm|wandb|mlflow|psycopg2?|redis|celery|' +
        'datasets|deepspeed|kafka)(?=[.:])|queuepool|embedding service|billing details|kv[- ]cache|' +
        'tokens? per (?:minute|min|day)|hugging ?face',
    ),
    reason: 'A library or service that the workload uses.',
  },
  {
    category: 'runtime',
    pattern: phrase(
      '(?:cuda(?![ -]?(?:version|toolkit|capability|compute|cores?|capable|>=|\\d|~))|nccl|nvml|' +
        'nvrm|xid|cu(?:dnn|blas|sparse|solver)(?:_status\\w*)?|gpu instance on gpu|rocm error|hip error|' +
        'net/(?:ib|socket|plugin)|(?:cuda|hip)error\\w+|cuda_error\\w*|nvlink(?: \\S{1,20}){0,2}? (?:errors?|failure|failed|down))',
    ),
    reason: 'The GPU stack speaks only on a machine that was already given to us.',
  },
  {
    category: 'runtime',
    pattern: phrase(
      'out of (?:gpu |host |device |system )?memory|out-of-memory|oom|oom[- ]?kill(?:ed|er)?|' +
        'exceed(?:s|ed) (?:its|the|their) memory limit|segfault\\w*|' +
        'low on memory|' +
        'memory allocation failed|cannot allocate memory|segmentation fault|core dumped|bus error|' +
        'illegal instruction|' +
        'illegal memory access|exec format error|too many open files|device-side assert|' +
        'open shared object file',
    ),
    reason: 'A process or device ran out of memory or crashed.',
  },
  {
    category: 'runtime',
    pattern: phrase(
      'runtimeerror(?=: )(?![^;]{0,200}(?:capacity|quota|provision|launch|resources|availab|schedul|allocat))',
    ),
    reason: 'The general exception of Python, unless a client raises it about a placement.',
  },
  {
    category: 'runtime',
    pattern: phrase(
      'no (?:nvidia|cuda|amd)(?: gpu)? (?:driver|devices?)(?! plugin)|no gpu driver|' +
        'driver (?:initiali[sz]ation|install\\w*|load\\w*) (?:failed|failure|error)|' +
        'driver(?:/library)? version|driver (?:is )?not loaded|driver (?:mismatch|not found|' +
        'missing|crashed)|' +
        '(?:missing|unknown|lost) (?:gpu )?(?:device|driver)|no (?:gpu |~+ )?devices? (?:(?:were|' +
        'was|is|are) )?(?:found|detected|present|visible)|f(?:a|e)ll(?:en)? off the bus|gpu (?:is|was) lost|' +
        'devices?(?:\\(s\\))? (?:is|are|is/are) busy or unavailable|' +
        'select device driver|oci runtime|container runtime|failed to create (?:containerd|shim)|' +
        '(?:failed to|cannot|could not|unable to) start (?:the )?container|' +
        'create pod sandbox|uncorrectable (?:ecc|memory|errors?)|ecc (?:\\w{1,20} )?(?:errors?|double-bit)|unsatisfied condition|' +
        'device (?:is )?(?:lost|not ready|unhealthy)|unhealthy devices?|no healthy devices?|watchdog caught collective|' +
        'determine the device handle|cuda_visible_devices|nvidia-smi(?: has|:) (?:failed|command|not found|no such file)|nvidia-container-cli|couldn.t communicate with the nvidia driver',
    ),
    reason: 'A device or driver of the given machine is missing or broken.',
  },
  {
    category: 'auth',
    pattern: phrase(
      'unauthenticated|unauthori[sz]ed|unable to authenticate|not authenticated|(?:could not|' +
        'cannot|failed to|failure to) (?:be )?authenticate[d]?|' +
        'authentication (?:failed|failure|error|required|is required|was not|credentials|information)|' +
        'authenticating|complete authentication|authentication scopes|log ?in (?:is )?required|requires? (?:a )?log ?in|' +
        'please log ?in|re-?authenticat(?:e|ion)|' +
        '(?:status|error|http)(?: code)?:? 401|401 client error',
    ),
    reason: 'The caller is not known to the provider.',
  },
  {
    category: 'auth',
    pattern: phrase(
      '(?:invalid|expired|bad|wrong|incorrect|missing|unknown|revoked|no valid|' +
        'malformed)(?: \\w{1,20}){0,3}? ' +
        '(?:credentials?|credential sources|api[ -]?key|access key|user key|secret key|' +
        'access token|auth token|bearer token|security token|session token|id token|refresh token|' +
        'client secret|signature|' +
        'jwt|token)|' +
        '(?:credentials?|api[ -]?key|access key|account key|token|session|password)(?: \\S{1,30}){0,6}? (?:is |' +
        'are |was |were |has |have |been )*(?:invalid|expired|revoked|incorrect|rejected)|' +
        '(?:api|access|account) key (?:is |was |has been )?(?:not (?:found|valid|recogni[sz]ed)|missing|' +
        'disabled|required)|no api[ -]?key|signature (?:mismatch|does not match|verification failed)|' +
        '(?:verify|confirm|establish) (?:\\S{1,20} ){0,2}identity|aadsts\\d*|' +
        'validate the provided access credentials|(?:unable|failed|could not|' +
        'cannot)(?: to)? (?:locate|find|load|refresh|obtain|get)(?: \\S{1,20}){0,3}? credentials|' +
        'no(?: \\w{1,12})? auth credentials|(?:failed|unable|could not|cannot)(?: to)? (?:retrieve|acquire|obtain|refresh)(?: an?| the)?(?: (?:access|auth|bearer|id))? tokens?|signature we calculated|not subscribed to this service|' +
        'account is (?:currently )?(?:blocked|inactive|suspended|disabled)',
    ),
    reason: 'The credentials were refused.',
  },
  {
    category: 'rbac',
    pattern: phrase(
      'permission (?:["\']\\S{1,120}["\'] )?(?:was |is |has been )?(?:denied|required|missing)|permissions? (?:for|on|' +
        'to) \\S{1,200} (?:denied|required|missing)|' +
        'required (?:["\']\\S{1,120}["\']|\\S{1,120}) permissions?|(?:insufficient|missing|lacks?|' +
        'lacking|without|no|not enough|requires?)(?: the| required| necessary|' +
        ' sufficient)?(?: ["\']?[^\\s;,]{0,79}[^\\s;,.]){0,2}? permissions?|' +
        '(?:does|do)(?: not|n.t) have(?: the| required| sufficient|' +
        ' any)?(?: ["\']?[^\\s;]{1,80}["\']?)? (?:permissions?|authori[sz]ation|access|' +
        'privileges?)|' +
        '(?:insufficient|missing) (?:privileges?|rights|authori[sz]ation|access)|' +
        '(?:has|have|had|with) no (?:access|rights?|privileges?|authority)|not entitled|no entitlement',
    ),
    reason: 'A permission is missing.',
  },
  {
    category: 'rbac',
    pattern: phrase(
      '(?:lacks?|lacking|missing|without|requires?|needs?)(?: the)? ["\']?(?:[a-z]\\w{1,40}[.:]){1,4}(?:create|' +
        'get|list|use|update|delete|insert|pass|read|write|launch|start|act_?as|set|run|describe)\\w{0,40}',
    ),
    readsNames: true,
    reason: 'The permission itself is named: lacks compute.instances.create, ec2:RunInstances.',
  },
  {
    category: 'rbac',
    pattern: phrase(
      'forbidden|not (?:been )?authori[sz]ed|not permitted|not allowed to|rbac|' +
        'access (?:to (?:\\S{1,60} ){1,4})?(?:is |was )?denied|explicit deny|' +
        '(?:denied|disallowed|rejected|blocked|prohibited|forbidden|' +
        'refused)(?: \\S{1,40}){0,3}? polic(?:y|ies)|' +
        '(?:blocked|denied) by (?:an? |the )?scp|polic(?:y|ies)(?: \\S{1,60}){0,3}? (?:denied|denies|blocked|blocks|violated|violation|disallows|forbids|' +
        'prohibits)|violates? (?!accounting)(?:\\S{1,40} ){0,3}?(?:polic(?:y|ies)|podsecurity)|' +
        'constraint \\S{1,200} violated|authorization failed|admission webhook(?: \\S{1,120})? denied|' +
        '(?:invalid|unknown) account(?: or)?|may not (?:read|write|create|launch|use|list|access|' +
        'perform|delete|get|run)',
    ),
    reason: 'The caller is known and a rule keeps it out.',
  },
  {
    category: 'network',
    pattern: phrase(
      'connection (?:was |is |has been |attempt )?(?:refused|reset|closed|aborted|dropped|lost|' +
        'broken|terminated|forcibly closed|error|errors|failed|failure|termination)|' +
        'no connection established|connection (?:to|with|from) (?:\\S{1,40} ){1,5}(?:was |is |has been )?' +
        '(?:lost|refused|reset|closed|aborted|dropped|broken|terminated|failed)|' +
        'closed (?:the )?connection|(?:failed|unable|could not|cannot)(?: to)? establish (?:an? )?(?:new )?' +
        'connection|(?:failed to|unable to|could not|couldn.t|cannot) (?:connect|contact)|' +
        '(?:failed to|unable to|could not|couldn.t|cannot) (?:reach|talk to) (?:\\S{1,40} ){0,4}?(?:api|' +
        'service|server|endpoint|gateway|control plane|controller|host ~+|provider|registry)|fetch failed|' +
        '(?:server|peer|client|remote)_?(?: has)? ?disconnected\\w*|goaway|(?<=: )eof|' +
        'connectionerror|connectionreseterror|connectionrefusederror|econn(?:refused|reset|' +
        'aborted)|etimedout|enotfound|eai_again|ehostunreach|enetunreach|epipe|getaddrinfo|' +
        'socket hang up|broken pipe|network (?:is |was )?(?:unreachable|down|error|failure|' +
        'partition)|no route to host|host (?:is )?(?:unreachable|down)|' +
        'unreachable host|max retries exceeded|dial tcp|read tcp|write tcp|i/o timeout|' +
        'upstream connect|remote end closed|unexpected eof|proxy (?:error|connect)|' +
        'failed to (?:setup|set up) network',
    ),
    reason: 'The connection failed.',
  },
  {
    category: 'network',
    pattern: phrase(
      'dns|no such host|name resol(?:ution|ver)|(?:could not|cannot|unable to|failed to|' +
        'couldn.t) (?:be )?resolve(?:d)?(?! (?:image|reference))|' +
        'nxdomain|servfail|tls|(?:open)?ssl\\w*|x509|certificates?|certificate_verify_failed|' +
        'handshake (?:failed|failure|error|timeout)|err_(?:tls|ssl|cert)\\w*',
    ),
    reason: 'Name resolution or transport security failed.',
  },
  {
    category: 'cancelled',
    pattern: phrase(
      '(?:cancelled|canceled|cancellation)(?! due to (?:time ?limit|timeout)| while waiting for connection| \\(~+ exceeded| while reading body)|(?:aborted|stopped|' +
        'terminated|killed|interrupted|revoked|withdrawn) by (?:the |an? )?(?:user|operator|admin|' +
        'administrator|client|caller|owner|person|request|human)|' +
        '(?:user|client|caller|operator|admin|administrator|owner) (?:has |have )?(?:aborted|stopped|' +
        'withdrew|terminated|killed|interrupted|cancels|requested (?:a )?cancel\\w*)|' +
        '(?:operation|request) (?:was |has been )?aborted(?! by operation)|aborterror|cancel requested|' +
        'scancel|interrupt received|user interrupt|keyboard ?interrupt|sigint',
    ),
    reason: 'Somebody took the request back.',
  },
  {
    category: 'timeout',
    pattern: phrase(
      '(?:timed|timing|times)[ -]out|timeouted|time[ -]outs?(?! of (?:host |gpu )?(?:capacity|stock|' +
        'resources))|deadline(?: of \\S{1,20})?(?: was| has been| is)? (?:exceeded|expired|reached|passed)|' +
        'exceed(?:ed|s|ing)? (?:\\S{1,30} ){0,3}?(?:timeout|deadline|time ?limit|(?:max|maximum|allowed) ' +
        '(?:duration|run ?time|wait\\w*))|(?:specified|' +
        'configured) deadline|' +
        'timeout (?:while )?(?:waiting|awaiting)(?: for| while)?|timeout after \\d+ ?\\w*|\\w[\\w.]{0,80}\\.(?:read|connect|pool|write)timeout|timeout (?:of \\S{1,12} )?(?:was |has been |' +
        'is )?(?:exceeded|expired|reached|elapsed|hit|error|occurred)|' +
        '(?:due to|because of|after|hit|reached)(?: an?| the)? (?:\\w{1,20} )?timeout|' +
        '(?:handshake|gateway|request|read|connection|connect|operation|wait|client|i/o|' +
        'vm schedule|scheduling|schedule|registration|provisioning|start-?up|boot|launch) timeout(?!(?: |: | of | is | set to | = )\\d| (?:setting|value|option))|' +
        'canceled while waiting for connection',
    ),
    reason: 'An operation or wait ended by time (fallback 2.2).',
  },
  {
    category: 'timeout',
    pattern: phrase('client\\.timeout (?:or context cancellation|exceeded)'),
    readsNames: true,
    reason: 'The HTTP client of Go, which says "request canceled" when its own time is up.',
  },
  {
    category: 'timeout',
    pattern: phrase(
      'did not (?:finish|complete|become ready|register|start|respond|come up|' +
        'reach \\S{1,40})(?: \\S{1,20}){0,3}? (?:in|within|after|before) (?:the |' +
        'an? )?(?:\\S{1,20} ){0,2}?(?:time|deadline|limit|\\d+ ?(?:s|sec|seconds|m|min|minutes|h|' +
        'hours)(?:\\d{1,3}[a-z]{1,3}){0,3})|not \\w{1,20} (?:within|after) \\d+ ?(?:s|sec|seconds|m|min|minutes|h|hours)|' +
        'allotted time|gave up (?:after )?(?:waiting|\\d+\\w*)|giving up after(?! \\d+ (?:attempts|tries|retries))|waited for more than|' +
        'waited (?:too long|longer)|(?<!requested )time ?limit|longer than (?:the )?(?:specified|allowed)|' +
        'wait (?:of \\S{1,20} )?exceeded|wall[ -]?clock limit|' +
        'not (?:\\S{1,30} ){1,5}?(?:in time|before (?:the |its |their )?deadline)|' +
        '(?:no|without(?: an?)?) (?:answer|response|reply|progress)(?: \\S{1,30}){0,3}? (?:within|' +
        'after|in|for) \\d+ ?\\w*',
    ),
    reason: 'The same said without the word timeout.',
  },
];

/** The class of what the text and its masked words say, the earlier step first (fallback 2.1 rule 2). */
export function neverCountText({
  words,
  text,
}: {
  readonly words: string;
  readonly text: string;
}): NeverCountCategory | undefined {
  return NEVER_COUNT_CATEGORIES.find((category) =>
    NEVER_COUNT_TEXTS.some(
      (row) => row.category === category && row.pattern.test(row.readsNames ? text : words),
    ),
  );
}
