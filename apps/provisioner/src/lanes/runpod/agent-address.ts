import { AGENT_PORT } from '../pod-agent.ts';
import type { Pod } from './pod.ts';

/** The provider's proxy ends TLS and finds the pod by its id and private port. */
export const PROXY_ADDRESS = 'https://{pod}-{private}.proxy.runpod.net';

/**
 * Where the agent of a pod is reached, or null while its port is not public. `form` may name {pod}, {private},
 * {public} and {ip}; the last two are what the pod's own answer gives.
 */
export function agentUrlOf(form: string, pod: Pod): string | null {
  const port = pod.runtime?.ports?.find(({ private: inner }) => inner === AGENT_PORT);
  if (port === undefined) return null;
  const values: Readonly<Record<string, string>> = {
    pod: encodeURIComponent(pod.id),
    private: String(port.private),
    public: String(port.public),
    ip: port.ip,
  };
  return form.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
