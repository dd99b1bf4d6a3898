import { isGpu, type NamedResource, namesGpu, namesOnlyCpuMachines, type Resource } from './resources.ts';
import { SHORTAGE_PHRASES, type ShortagePhrase } from './shortage-phrases.ts';

/** What a message says about something running short. */
export interface Shortage {
  /** The first phrase that is about a GPU by name. */
  readonly named: ShortagePhrase | undefined;
  /** The first phrase that names no resource, and so means the GPU of the request (fallback 2.1 rule 7). */
  readonly unnamed: ShortagePhrase | undefined;
  /** Some phrase is about a resource that does not count (fallback 2.3). */
  readonly negative: boolean;
}

/**
 * Reads every shortage phrase of a message with its subject. `words` is the text with names masked, of the
 * same length: phrases are found in it, while their subjects are the resources of the text itself.
 */
export function readShortage(text: string, words: string, resources: readonly NamedResource[]): Shortage {
  const named = new Named(text, resources);
  let unnamed: ShortagePhrase | undefined;
  let negative = false;

  for (const phrase of SHORTAGE_PHRASES) {
    for (const match of (phrase.readsNames ? text : words).matchAll(phrase.pattern)) {
      const place = { start: match.index, end: match.index + match[0].length };
      const about = subject(phrase, place, named) ?? elsewhere(phrase, named);
      if (about === 'gpu') return { named: phrase, unnamed, negative };
      if (about === 'other') negative = true;
      else if (phrase.unnamed === 'counts') unnamed ??= phrase;
    }
  }
  return { named: undefined, unnamed, negative };
}

type Subject = 'gpu' | 'other' | undefined;

/** How far from its phrase a subject may stand, in characters. */
const REACH = 240;
/** A resource this near before the phrase is its subject, whatever is named after it. */
const BESIDE = 40;
/** A resource this near after the phrase is its object, whatever is named further on. */
const ADJACENT = 14;

interface Place {
  readonly start: number;
  readonly end: number;
}

/** The resource that a phrase is about: inside it, else on the side where its grammar puts the subject. */
function subject(phrase: ShortagePhrase, place: Place, named: Named): Subject {
  // A quota of the cores of a GPU family is a GPU quota: `StandardNCADSA100v4Family Cores quota`.
  const ofFamily = phrase.category === 'quota_exhausted' && named.family;
  const inside = strongest(named.between(place.start, place.end));
  if (inside !== undefined) return inside === 'cpu' && ofFamily ? 'gpu' : about(inside);

  const sentence = named.sentence(place);
  const after = named.between(place.end, Math.min(sentence.end, place.end + (phrase.reach ?? REACH)));
  const before = named.between(Math.max(sentence.start, place.start - REACH), place.start);
  const following = () => first(after, place.end, phrase, ofFamily);
  const preceding = (reach: number) => last(before, place.start - reach, ofFamily);
  return phrase.subject === 'before'
    ? (preceding(BESIDE) ?? following() ?? preceding(REACH))
    : (following() ?? preceding(phrase.reach ?? REACH));
}

/** The subject may stand in another sentence: `Out of host capacity. ... shape=BM.GPU.H100.8`. */
function elsewhere(phrase: ShortagePhrase, named: Named): Subject {
  if (phrase.unnamed === 'silent') return undefined;
  if (named.onlyCpuMachines) return 'other';
  return named.gpu ? 'gpu' : undefined;
}

function about(resource: Resource): Subject {
  return isGpu(resource) ? 'gpu' : 'other';
}

function strongest(resources: readonly NamedResource[]): Resource | undefined {
  const gpu = resources.find(({ resource }) => isGpu(resource));
  return (gpu ?? resources.find(({ resource }) => resource !== 'cpu') ?? resources[0])?.resource;
}

function first(
  resources: readonly NamedResource[],
  from: number,
  phrase: ShortagePhrase,
  ofFamily: boolean,
): Subject {
  const found = resources[0];
  if (found === undefined || found.resource !== 'cpu') return found && about(found.resource);
  // A list of what was asked for may begin with CPU: `resources {"cpu":"4","nvidia.com/gpu":"2"}`.
  const listed = found.at > from + ADJACENT || phrase.category === 'no_compatible_product';
  return ofFamily || (listed && resources.some(({ resource }) => resource === 'gpu')) ? 'gpu' : 'other';
}

function last(resources: readonly NamedResource[], from: number, ofFamily: boolean): Subject {
  const found = resources.at(-1);
  if (found === undefined || found.end < from) return undefined;
  return found.resource === 'cpu' && ofFamily ? 'gpu' : about(found.resource);
}

/** The resources and sentences of one text, read once, so that a long text of many phrases stays cheap. */
class Named {
  readonly gpu: boolean;
  readonly family: boolean;
  readonly onlyCpuMachines: boolean;
  readonly #starts: readonly number[];
  readonly #sentenceEnds: readonly number[];

  constructor(
    text: string,
    private readonly resources: readonly NamedResource[],
  ) {
    this.gpu = namesGpu(resources);
    this.family = resources.some(({ resource }) => resource === 'gpu_family');
    this.onlyCpuMachines = namesOnlyCpuMachines(resources);
    this.#starts = resources.map(({ at }) => at);
    this.#sentenceEnds = [...text.matchAll(/[.!?;]["')\]]{0,3}(?: |$)/g)].map(
      (mark) => mark.index + mark[0].length,
    );
  }

  /** The resources whose name begins in a stretch of the text. */
  between(from: number, to: number): readonly NamedResource[] {
    return this.resources.slice(firstAtOrAfter(this.#starts, from), firstAtOrAfter(this.#starts, to));
  }

  /** The bounds of the sentence around a place. */
  sentence({ start, end }: Place): Place {
    return {
      start: this.#sentenceEnds[firstAtOrAfter(this.#sentenceEnds, start + 1) - 1] ?? 0,
      end: this.#sentenceEnds[firstAtOrAfter(this.#sentenceEnds, end)] ?? Number.POSITIVE_INFINITY,
    };
  }
}

/** The index of the first number that is not less than a bound, in a sorted list. */
function firstAtOrAfter(sorted: readonly number[], bound: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? bound) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
