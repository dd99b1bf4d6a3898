/** Words that are written with a hyphen. Any other hyphenated token is the name of something. */
const HYPHENATED_WORDS: ReadonlySet<string> = new Set(
  (
    'back-off backing-off timed-out time-out time-outs timing-out image-pull out-of-memory out-of-capacity ' +
    'out-of-stock stock-out on-demand read-only self-signed scale-up re-pull no-such-host not-authorized ' +
    'un-authorized anti-affinity device-side double-bit nvidia-smi nvidia-container-cli ' +
    'kv-cache non-zero oom-kill oom-killed oom-killer sold-out rate-limit rate-limited pre-empted node-affinity'
  ).split(' '),
);

/** Left sides of `=` whose right side is a sentence or a code and not a name. */
const SAYING_MEMBERS =
  /^(?:error|err|reason|code|msg|message|desc|description|status|state|violation|cause)$/;

const TOKEN = /[^\s"'`()[\]{},;<>|]+/g;
const NAMING_NOUNS =
  'pods?|host|node|region|zone|namespace|label|image|instance|cluster|container|bucket|job|queue|name|named|' +
  'called|repository|user|project|account';
const NAMED_BY_NOUN = new RegExp(`(?<=(?:^|\\W)(?:${NAMING_NOUNS}) )["']([\\w.-]{1,120})["']`, 'g');

// `in namespace nccl`; a word that says what happened in the place is not its name.
const NAMED_PLACE =
  /(?<=(?:^|\W)in (?:the )?(?:namespace|project|cluster|region|zone|partition|queue) )(?!timed|timing|time-|denied|refused|forbidden|failed|cancel|unauth)[a-z]\w{1,60}(?![\w-])/g;

const EXCEPTION_CLASS =
  /^[a-z_]\w*\.[\w.]{0,200}(?:error|exception|exceeded|(?:read|connect|pool|write)timeout)$/;

const blank = (length: number): string => '~'.repeat(length);

/**
 * The message with everything that is a name, path, address or setting replaced by tildes of the same
 * length, so that a trigger inside one is not read as a word: `train-checkpoint-eval-0` reports no failed
 * checkpoint (fallback 2, words not letters). Positions stay those of the message.
 */
export function maskNames(text: string): string {
  return text
    .replace(NAMED_BY_NOUN, (quoted) => blank(quoted.length))
    .replace(NAMED_PLACE, (name) => blank(name.length))
    .replace(TOKEN, (token) => maskToken(token));
}

function maskToken(token: string): string {
  const end = token.search(/[.:!?]+$/);
  const core = end === -1 ? token : token.slice(0, end);
  const tail = end === -1 ? '' : token.slice(end);
  return maskCore(core) + tail;
}

function maskCore(core: string): string {
  if (/^[\w$%+*#~&]*$/.test(core)) return core;
  if (core.includes('://') || core.includes('@') || core.includes('\\')) return blank(core.length);

  const equals = core.indexOf('=');
  if (equals !== -1) {
    const said = core.slice(equals + 1);
    if (said.includes('=') || !SAYING_MEMBERS.test(core.slice(0, equals))) return blank(core.length);
    return `${core.slice(0, equals + 1)}${maskCore(said)}`;
  }
  if (core.includes('/')) return maskSlashed(core);
  if (core.includes('-')) return HYPHENATED_WORDS.has(core) ? core : blank(core.length);
  // A dotted token is a host, a file or a version, unless it is the class of an exception.
  return core.includes('.') && !EXCEPTION_CLASS.test(core) ? blank(core.length) : core;
}

/** `tls/ssl` are two words; anything longer or with a digit, dot or hyphen is a path or an image. */
function maskSlashed(core: string): string {
  return /^[a-z]+\/[a-z]+$/.test(core) ? core : blank(core.length);
}
