import { compactCode } from './normalise.ts';

/** Codes that stand in a message, compact, in their order (fallback 2, normalising). */
export interface InnerCodes {
  /** Where a wrapper puts a code: there a single word like `unauthenticated` is a code too. */
  readonly positioned: readonly string[];
  /** A single word before the first colon: `runtime: ...`. As prose it may be a topic, so it only ever refuses. */
  readonly topic: string | undefined;
  /** Any other word of the message: only spellings that no sentence uses (`ErrImagePull`) may be codes. */
  readonly mentioned: readonly string[];
}

/** Each wrapper with the place where it puts its code. */
const CODE_POSITIONS: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  {
    pattern: /"(?:code|error|error_?code|reason)" ?: ?"([\w./-]{2,80})"/g,
    reason: 'A member of a JSON error body.',
  },
  { pattern: /(?<!\w)code ?= ?(\w{2,60})/g, reason: 'The gRPC form: rpc error: code = X desc = ...' },
  {
    pattern: /(?<!\w)(?:code|error code|reason|errorcode): ?['"]?(\w[\w.-]{1,80})/g,
    reason: 'YAML of gcloud; ERROR CODE of Azure.',
  },
  {
    pattern: /\(([\w.-]{2,60})\) when calling/g,
    reason: 'The botocore form: An error occurred (X) when calling ...',
  },
  { pattern: /(?:pending|pd) \((\w{2,60})/g, reason: 'The SLURM form: PENDING (X).' },
  {
    pattern: /(?:launchfailed|error occurred|clienterror): ?\(?([a-z]\w{2,60})/g,
    reason: 'Karpenter and SDK wrappers name the inner cause.',
  },
  {
    pattern: /^([a-z]{2,40}(?:[_-][a-z]{2,40}){1,6})(?::(?= )|$)/g,
    reason: 'A caller without a field for the code puts it first: `insufficient-gpu: no node is free`.',
  },
  {
    pattern: /^\d{1,2} ([a-z_]{4,40}):/g,
    reason: 'The gRPC status of a Node client: 8 RESOURCE_EXHAUSTED: ...',
  },
];

// A number after the colon makes it a setting, as in `timeout: 600s`; the class of an exception is a mentioned code.
const TOPIC = /^([a-z]{2,30})(?<!error): (?!\d)/;

// The guards keep parts of names out: no letter, slash, dot, at or equals sign or hyphen may touch a word.
const WORD = /(?<![\w./@=-])(?:\d{3}-)?([a-z][a-z0-9]*(?:[._][a-z0-9]+)*)(?![\w/@=-]|\.\w)/g;

// What stands in an address is part of it: `.../errors?code=401` reports no 401 (fallback 2, words not letters).
const ADDRESS = /(?<![a-z0-9])[a-z][a-z0-9+.-]{1,10}:\/\/[^\s"'<>()]+/g;

/** Finds the codes inside a message that plainText has normalised. */
export function innerCodes(message: string): InnerCodes {
  const text = message.replace(ADDRESS, (address) => '~'.repeat(address.length));
  const positioned = new Set<string>();
  for (const { pattern } of CODE_POSITIONS) {
    for (const match of text.matchAll(pattern)) {
      const code = match[1] ?? '';
      positioned.add(compactCode(code));
      positioned.add(compactCode(code.split(/[/.]/).at(-1) ?? ''));
    }
  }
  const mentioned = new Set<string>();
  for (const match of text.matchAll(WORD)) {
    const word = match[1] ?? '';
    mentioned.add(compactCode(word));
    if (word.includes('.')) mentioned.add(compactCode(word.split('.').at(-1) ?? ''));
  }
  return { positioned: [...positioned], topic: TOPIC.exec(text)?.[1], mentioned: [...mentioned] };
}
