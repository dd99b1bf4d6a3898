/** How a text may be written down. */
export type Form = 'plain' | 'json' | 'url' | 'base64' | 'hex';

export interface Pattern {
  readonly secret: string;
  readonly form: Form;
  readonly bytes: Buffer;
}

/** A shorter text is found by chance in any binary file. */
export const MIN_SECRET_CHARACTERS = 6;
/** A piece of base64 this long stands for 6 whole bytes. */
const MIN_BASE64_CHARACTERS = 8;

/** Every byte sequence that gives a secret away, each once; none for a secret that is too short to tell. */
export function patternsOf(secret: string): readonly Pattern[] {
  if (secret.length < MIN_SECRET_CHARACTERS) return [];

  const json = JSON.stringify(secret).slice(1, -1);
  const url = encodeURIComponent(wellFormed(secret));
  const texts: readonly (readonly [Form, string])[] = [
    ['plain', secret],
    ['json', json],
    ['json', asciiOnly(json)],
    // A JSON text inside a JSON text, as in a log line that quotes a body.
    ['json', JSON.stringify(json).slice(1, -1)],
    ['url', url],
    ['url', url.replaceAll('%20', '+')],
    ['url', url.replaceAll('%2F', '/')],
    ...base64Of(secret).map((text) => ['base64', text] as const),
    // How Postgres prints bytes.
    ['hex', Buffer.from(secret).toString('hex')],
  ];
  const seen = new Set<string>();
  return texts.flatMap(([form, text]) => {
    if (seen.has(text)) return [];
    seen.add(text);
    return [{ secret, form, bytes: Buffer.from(text) }];
  });
}

function asciiOnly(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * The characters that do not depend on what stands before and after, for each of the three places at which
 * the text can begin within a group of three bytes.
 */
function base64Of(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor((padded.length * 8) / 6);
    const core = padded.toString('base64').slice(first, last);
    if (core.length < MIN_BASE64_CHARACTERS) return [];
    return [core, core.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** What UTF-8 makes of the text, without the lone surrogates that a URL cannot hold. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString('utf8');
}
