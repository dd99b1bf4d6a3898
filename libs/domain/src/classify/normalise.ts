// Colours and frames that a command line draws round its words: `\u001b[31m`, with or without its control character.
const TERMINAL_DRAWING = /(?:\p{Cc}|\\u001b|\\x1b|\\033)?\[(?:\d{1,3}(?:;\d{1,3}){0,4})m|[\u2500-\u257f]/gu;

/**
 * The message as the rules read it (fallback 2, normalising): lower case, colours and frames of a terminal
 * left out, typographic quotes and dashes plain, escapes of a JSON string undone, every run of blanks and line breaks one blank.
 */
export function plainText(message: string): string {
  return message
    .toLowerCase()
    .replace(TERMINAL_DRAWING, ' ')
    .replace(/(?<!\\)\\+u([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/(?<!\\)\\+(?:n|[rt](?![a-z]))/g, ' ')
    .replace(/(?<!\\)\\+(?=["'/])/g, '')
    .replace(/[\u2018\u2019\u201a\u201b\u2032\u00b4\u02bc]/g, "'")
    .replace(/[\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/\s+/g, ' ')
    .trim();
}

/**
 * One spelling for one code (fallback 2, normalising): `NotEnoughResources`, `not_enough_resources` and
 * `not-enough-resources` all become `notenoughresources`; a `client.` or `server.` in front is dropped.
 */
export function compactCode(code: string): string {
  return code
    .trim()
    .toLowerCase()
    .replace(/^(?:client|server)\./, '')
    .replace(/[\s_-]+/g, '');
}

/**
 * The forms under which a caller's code is looked up: whole first, then what hides in it behind a path
 * (`global/quota-exceeded`), a status (`403 Forbidden`), the modules of a class (`a.b.ExpiredToken`) or a
 * wrapper.
 */
export function codeForms(code: string): readonly string[] {
  const forms = [
    compactCode(code),
    compactCode(code.replace(/^\s*(?:http|error)?[\s_-]*\d{3}[\s_:-]+/i, '')),
  ];
  for (const piece of code.split(/[:/(),;=[\]"']+/)) forms.push(compactCode(piece));
  const lastName = code.split('.').at(-1);
  if (lastName !== undefined) forms.push(compactCode(lastName));
  return [...new Set(forms)].filter((form) => form !== '');
}
