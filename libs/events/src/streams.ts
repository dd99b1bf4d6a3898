const PREFIX = 'allocation-';

/** The one stream of a logical allocation (design 4): its whole story in causal order. */
export function allocationStream(ref: string): string {
  return `${PREFIX}${ref}`;
}

/** The ref of an allocation's stream. Throws for any other stream: its caller has taken a wrong one. */
export function allocationRefOf(stream: string): string {
  const ref = refOfStream(stream);
  if (ref === null) throw new Error('not the stream of an allocation');
  return ref;
}

/** The ref a stream is named after; null for a stream that is no allocation's. */
export function refOfStream(stream: string): string | null {
  return stream.startsWith(PREFIX) ? stream.slice(PREFIX.length) : null;
}
