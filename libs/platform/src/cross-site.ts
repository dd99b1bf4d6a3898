import type { RequestHeaders } from './auth.ts';

const READING_METHODS = ['GET', 'HEAD', 'OPTIONS'];
/** What a browser says of a request that its user or a page of this very origin has made. */
const OWN_SITES = ['same-origin', 'none'];

/**
 * Whether a page of another origin sent a request that may change something. Browsers say so in these headers and
 * let no page leave them out; a program sends neither and is not meant. The proxy before an app must hand on `Host`.
 */
export function isCrossSite(method: string, headers: RequestHeaders): boolean {
  if (READING_METHODS.includes(method)) return false;
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && !OWN_SITES.includes(String(site))) return true;
  if (origin === undefined) return false;
  const from = hostOf(String(origin));
  return from === null || from !== hostOf(`http://${String(host)}`);
}

/** Host and port as a browser compares them; null for `null` and what else is no address. */
function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
