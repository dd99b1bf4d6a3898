const PREFIX = 'allocation-';

/** The one stream of a logical allocation (design 4): its whole story in causal order. */
export function allocationStream(ref: string): string {
  return `${PREFIX}${ref}`;
}

/** The ref a stream is named after; null for a stream that is no allocation's. */
export function refOfStream(stream: string): string | null {
  return stream.startsWith(PREFIX) ? stream.slice(PREFIX.length) : null;
}
