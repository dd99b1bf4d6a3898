import { phrase, type ShortagePhrase } from './shortage-phrases.ts';

/** Phrases that count only when nothing else in the text says what failed; the GPU ones need a GPU named. */
export const LAST_PHRASES: readonly ShortagePhrase[] = [
  {
    id: 'affinity',
    category: 'no_compatible_product',
    pattern: phrase(
      "affinity mismatch|(?:did|do|does)(?: not|n't) match(?! pods? (?:anti-)?affinity)" +
        '(?: [^\\s.;,]{1,40}){0,5}? (?:node affinity|affinity|node selector)',
    ),
    subject: 'after',
    unnamed: 'counts',
    reason: 'No node has what the affinity asks for; beside a CPU shortage it is not the reason.',
  },
  {
    id: 'every-zone-failed',
    category: 'capacity_exhausted',
    pattern: phrase(
      'failed to (?:acquire|provision)(?: \\S{1,40}){0,3} in (?:all|any|every) (?:zones?|regions?)' +
        '(?![^]{0,600}(?:reasons?|errors?|exception|failed|because|cause)(?!\\w))',
    ),
    subject: 'after',
    unnamed: 'silent',
    reason: 'A summary without a cause: no zone gave the GPUs.',
  },
];
