import type { RequestHeaders } from './auth.ts';

const READING_METHODS = ['GET', 'HEAD', 'OPTIONS'];
/** What a browser says of a request that its user or a page of this very origin has made. */
const OWN_SITES = ['same-origin', 'none'];

/**
 * Whether a page of another origin sent a request that may change something. Browsers say so in these headers and
 * let no page leave them out; a program sends neither and is not meant. The proxy before an app must hand on `Host`.
 * A page is ours only by a loopback name or by `publicUrl`: any other name may be one that its owner has made to
 * point to this machine, and then the browser takes their page for ours.
 */
export function isCrossSite(method: string, headers: RequestHeaders, publicUrl?: string): boolean {
  if (READING_METHODS.includes(method)) return false;
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && !OWN_SITES.includes(String(site))) return true;
  if (origin === undefined) return false;
  const from = addressOf(String(origin));
  if (from === null || from.host !== addressOf(`http://${String(host)}`)?.host) return true;
  return !isLoopbackName(from.hostname) && from.host !== addressOf(publicUrl ?? '')?.host;
}

/** Host and port as a browser compares them; null for `null` and what else is no address. */
function addressOf(origin: string): URL | null {
  return URL.canParse(origin) ? new URL(origin) : null;
}

function isLoopbackName(name: string): boolean {
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(\.\d+){3}$/.test(name)
  );
}
