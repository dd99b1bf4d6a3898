import { useEffect, useState } from 'preact/hooks';

/** The moment that an allocation is looked at: after an event, at a time, or now. */
export type AsOf =
  | { readonly kind: 'now' }
  | { readonly kind: 'pos'; readonly pos: number }
  | { readonly kind: 'time'; readonly ms: number };

/** A view of the page: everything that a shared link carries. */
export type Route =
  | { readonly view: 'questions' }
  | { readonly view: 'history' }
  | { readonly view: 'question'; readonly id: string }
  | { readonly view: 'overview'; readonly filters: ReadonlyMap<string, string> }
  | { readonly view: 'allocation'; readonly ref: string; readonly asOf: AsOf }
  | { readonly view: 'unknown' };

/** What an address means. Anything that is none of ours is `unknown`, never an error. */
export function routeOf(path: string, search: string): Route {
  const [first, second, ...rest] = path.split('/').filter((part) => part !== '');
  if (rest.length > 0) return { view: 'unknown' };
  const subject = second === undefined ? null : decoded(second);
  const query = new URLSearchParams(search);

  if (first === undefined) return { view: 'questions' };
  if (first === 'prompts') {
    return subject === null ? { view: 'questions' } : { view: 'question', id: subject };
  }
  if (first === 'allocations' && subject !== null) {
    return { view: 'allocation', ref: subject, asOf: asOfIn(query.get('at')) };
  }
  if (subject !== null) return { view: 'unknown' };
  if (first === 'history') return { view: 'history' };
  if (first === 'overview') return { view: 'overview', filters: new Map(query) };
  return { view: 'unknown' };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function asOfIn(text: string | null): AsOf {
  if (text === null) return { kind: 'now' };
  if (/^\d{1,15}$/.test(text)) return { kind: 'pos', pos: Number(text) };
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? { kind: 'now' } : { kind: 'time', ms };
}

export function questionPath(id: string): string {
  return `/prompts/${encodeURIComponent(id)}`;
}

export function allocationPath(ref: string, asOf: AsOf = { kind: 'now' }): string {
  const path = `/allocations/${encodeURIComponent(ref)}`;
  switch (asOf.kind) {
    case 'now':
      return path;
    case 'pos':
      return `${path}?at=${asOf.pos}`;
    case 'time':
      return `${path}?at=${new Date(asOf.ms).toISOString()}`;
  }
}

export function overviewPath(filters: ReadonlyMap<string, string>): string {
  const query = new URLSearchParams([...filters].filter(([, value]) => value !== '')).toString();
  return query === '' ? '/overview' : `/overview?${query}`;
}

const MOVED = 'spillway:moved';

/** Goes to another view; `replace` leaves no entry to come back to. */
export function go(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  dispatchEvent(new Event(MOVED));
}

/** The view that the address names, kept up to date. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.pathname, location.search));
  useEffect(() => {
    const read = () => setRoute(routeOf(location.pathname, location.search));
    addEventListener('popstate', read);
    addEventListener(MOVED, read);
    return () => {
      removeEventListener('popstate', read);
      removeEventListener(MOVED, read);
    };
  }, []);
  return route;
}
