import { currentEvents } from './event-list.ts';

/**
 * The message without what is not the present failure: earlier events, errors quoted for context, and help
 * text such as "regions with capacity available: ..." (fallback 2.3, history and hints). When nothing else
 * was said, the whole message stays, because then it is all the evidence there is.
 */
export function presentFailure(text: string): string {
  const kept = sentences(currentEvents(withoutAsides(text)))
    .filter((sentence) => !HISTORY.test(sentence) && !HINT.test(sentence))
    .join(' ');
  return kept.trim() === '' ? text : kept;
}

const sentence = (beginnings: readonly string[], anywhere: readonly string[]) =>
  new RegExp(`^\\W{0,3}(?:${beginnings.join('|')})(?!\\w)|(?<!\\w)(?:${anywhere.join('|')})(?!\\w)`);

/** Sentences that tell of the past. */
const HISTORY = sentence(
  [
    'previous(?:ly)?',
    'earlier',
    'last (?:error|failure|attempt|event|status|observed|seen|known)',
    'prior',
    'history',
    'before that',
    'in the past',
    'resolved',
  ],
  ['\\d{1,5} ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?) ago'],
);

/** Sentences that tell what to do, where to read on, or what is not short. */
const HINT = sentence(
  [
    'hint',
    'tip',
    'suggestions?',
    'did you mean',
    'to (?:fix|request|increase|resolve|troubleshoot)',
    'for (?:more|further|details|help)',
    'see(?! that)',
    'please(?! note)',
    'visit',
    'try',
    'retry(?:ing)?',
    'request an?',
    'submit a',
    'you can',
    'you may (?:want|try|also)',
    'consider',
    'alternatively',
    'regions? with',
    'available (?:in|regions|zones)',
    'other regions',
    'our system',
    'learn more',
    'read more',
    'documentation',
    'docs',
    'add suitable',
    'create the instance in',
    'choose',
    'contact',
  ],
  ['headroom', 'regions with capacity', 'capacity is available in'],
);

/** Asides inside a sentence: bracketed last states, and members of an error body that hold advice. */
function withoutAsides(text: string): string {
  return text
    .replace(/\((?:last|previous|earlier|hint|see|before|was)(?!\w)[^()]{0,400}\)/g, ' ')
    .replace(
      /"(?:suggestion|hint|help|documentation|doc_url|docs|resolution|remediation)" ?: ?"[^"]{0,2000}"/g,
      ' ',
    );
}

/** Splits after a full stop, question or exclamation mark or semicolon that a blank follows. */
function sentences(text: string): readonly string[] {
  const found: string[] = [];
  let start = 0;
  for (const mark of text.matchAll(/[.!?;]["')\]]{0,3} /g)) {
    const end = mark.index + mark[0].length;
    found.push(text.slice(start, end).trim());
    start = end;
  }
  found.push(text.slice(start).trim());
  return found.filter((sentence) => sentence !== '');
}
