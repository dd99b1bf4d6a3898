import type { RequestHeaders } from './auth.ts';

const READING_METHODS = ['GET', 'HEAD', 'OPTIONS'];
/** What a browser says of a request that its user or a page of this very origin has made. */
const OWN_SITES = ['same-origin', 'none'];

/**
 * Whether a page of another origin sent a request that may change something. Browsers say so in these headers and
 * let no page leave them out; a program sends neither and is not meant. The proxy before an app must hand on `Host`,
 * and that it names this deployment is asked before (own-hosts.ts): what is of its origin is then ours.
 */
export function isCrossSite(method: string, headers: RequestHeaders): boolean {
  if (READING_METHODS.includes(method)) return false;
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && !OWN_SITES.includes(String(site))) return true;
  if (origin === undefined) return false;
  const from = addressOf(String(origin));
  // Compared with the port as the scheme has it: TLS may end before us.
  return from === null || from.host !== addressOf(`${from.protocol}//${String(host)}`)?.host;
}

/** Host and port as a browser compares them; null for `null` and what else is no address. */
function addressOf(origin: string): URL | null {
  return URL.canParse(origin) ? new URL(origin) : null;
}
