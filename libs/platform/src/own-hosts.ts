/** Where people and programs reach an app, as its configuration says. */
export interface ReachedAs {
  readonly SPILLWAY_PUBLIC_URL: string;
  readonly SPILLWAY_HOST_NAMES: readonly string[];
}

/** The host names under which an app is reached beside those of loopback, in lower case. */
export function ownHosts({ SPILLWAY_PUBLIC_URL, SPILLWAY_HOST_NAMES }: ReachedAs): readonly string[] {
  return [hostNameOf(new URL(SPILLWAY_PUBLIC_URL).host), ...SPILLWAY_HOST_NAMES].filter(
    (name) => name !== null,
  );
}

/**
 * Whether a `Host` header names this deployment: by loopback, or by one of `ours`, whatever the port. Any other name
 * may be one that its owner has made to point to this machine, and then a browser lets their page read what is
 * answered (fallback 7). Browsers always send the header and let no page choose it.
 */
export function isOwnHost(host: string, ours: readonly string[]): boolean {
  const name = hostNameOf(host);
  return name !== null && (isLoopbackName(name) || ours.includes(name));
}

const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/** The name in a `Host` header as a browser compares it; null for what is none. */
export function hostNameOf(host: string): string | null {
  const address = `http://${host}`;
  return HOST.test(host) && URL.canParse(address) ? new URL(address).hostname : null;
}

function isLoopbackName(name: string): boolean {
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(\.\d+){3}$/.test(name)
  );
}
