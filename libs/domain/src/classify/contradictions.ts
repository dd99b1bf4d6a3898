interface Contradiction {
  readonly id: string;
  readonly pattern: RegExp;
  /** `ended`: not a failed placement at all, so not even a GPU shortage beside it counts. */
  readonly kind: 'other-cause' | 'ended';
  readonly reason: string;
}

const phrase = (source: string) => new RegExp(`(?<!\\w)(?:${source})(?!\\w)`);

/** Causes that a text may state although the code, or a phrase without a resource, speaks of placement. */
const CONTRADICTIONS: readonly Contradiction[] = [
  {
    id: 'reclaimed',
    kind: 'ended',
    pattern: phrase(
      'reclaim(?:ed|ing)|(?:was|were|been|is being|got) (?:preempted|evicted|interrupted|' +
        'revoked)|preempted (?:by|to|in order)|' +
        'spot (?:instance )?(?:interruption|termination|interrupted|reclaim)|' +
        'server\\.spotinstancetermination|job was interrupted|' +
        'maxrunduration|booking (?:has )?ended|reservation (?:has )?(?:ended|expired)|' +
        'lease (?:has )?(?:ended|expired)|end of (?:the )?(?:booked|reserved)',
    ),
    reason: 'A running machine was taken back or its booked time ended (fallback 2.3).',
  },
  {
    id: 'name-conflict',
    kind: 'other-cause',
    pattern: phrase(
      'already exists?|already (?:being )?(?:in use|used)|name is (?:taken|in use)|duplicate name|not unique',
    ),
    reason: 'Something of that name exists; nothing is short.',
  },
  {
    id: 'placement-group',
    kind: 'other-cause',
    pattern: phrase(
      '(?:limit|maximum|max|quota|exceed\\w{0,3}|up to|too many)' +
        '(?: [^\\s.;]{1,40}){0,8}? placement groups?|placement groups?(?: [^\\s.;]{1,40}){0,8}? (?:limit|maximum|' +
        'max|quota|exceed\\w{0,3}|full|at most|up to|cannot|can.t|does not|not (?:allowed|supported|valid))',
    ),
    reason: 'A rule of the placement group, not the stock, refuses the machine.',
  },
  {
    id: 'rate-limit',
    kind: 'other-cause',
    pattern: phrase(
      'rate[ -]limit\\w{0,3}|ratelimit\\w{0,10}|rate (?:was )?exceeded|too many requests|' +
        'too[ _]frequent\\w{0,2}|requests? per|per[ -]minute|throttl\\w{1,4}|request rate|' +
        '(?:http\\w{0,5}|error|status|code)(?: code)?:? 429|read (?:operations|requests)|429 too',
    ),
    reason: 'The calls come too fast; the answer says nothing about machines.',
  },
  {
    id: 'full-file-system',
    kind: 'other-cause',
    pattern: phrase(
      'no space left|disk (?:is )?full|file ?system (?:is )?full|disk quota|out of disk|' +
        'log quota|storage limit',
    ),
    reason: 'A file system is full.',
  },
  {
    id: 'billing',
    kind: 'other-cause',
    pattern: phrase(
      'insufficient (?:\\w{1,20} ){0,2}(?:balance|funds|credits?)|payment (?:required|method|' +
        'failed)|billing|budget|spend(?:ing)? limit|insufficient_credit\\w?|out of credits?|add (?:funds|' +
        'credits?)|(?:bid|spot|market|max(?:imum)?) price|outbid|maximum bid|bid (?:is )?(?:too low|below)',
    ),
    reason: 'Money, not machines, is short.',
  },
  {
    id: 'bad-parameter',
    kind: 'other-cause',
    pattern: phrase(
      'larger than (?:the )?(?:max|limit|maximum)|message larger|mutually exclusive|' +
        'must be (?:>=|<=|less|greater|between|one of|a )|validation (?:failed|error)|' +
        'requested too many',
    ),
    reason: 'The request itself is malformed or too large.',
  },
];

/** The cause that the masked text states instead of a missing GPU (fallback 2.1 rule 5), if it states one. */
export function contradiction(words: string): { readonly id: string; readonly ended: boolean } | undefined {
  const found = CONTRADICTIONS.find(({ pattern }) => pattern.test(words));
  return found && { id: found.id, ended: found.kind === 'ended' };
}

// Whatever a placement may be said to be about; with any of these words the code may well be right.
const ABOUT_PLACEMENT =
  /capacit|quota|limit|availab|stock|insufficient|enough|free|host|node|left|place|schedul|queue|provision|match|compatib|offer|alloc|launch|creat|instance|machine|vm|gpu|zone|region|resource|request|busy|demand|pool|reserv|shortage|exhaust|product|flavou?r|affinity|gres|pending/;
const FAILED =
  /error|exception|fail|crash|invalid|unrecogni[sz]ed|unexpected|refused|rejected|corrupt|aborted|broken|bad gateway/;

/**
 * Whether the masked text tells of a failure without one word about machines or their number: then the
 * placement code beside it is a mislabel (fallback 2.1 rule 5), whatever it was that failed.
 */
export function unrelatedFailure(words: string): boolean {
  return FAILED.test(words) && !ABOUT_PLACEMENT.test(words);
}
