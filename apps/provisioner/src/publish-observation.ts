import type { ObservationBody } from './watcher.ts';

const DEADLINE_MS = 10_000;

/**
 * Hands observations to ingest over HTTP, the same way in as for outside pollers. An answer that is still open
 * (202) is taken: what follows from it stands in the log.
 */
export function observationPublisher(ingestUrl: string): (body: ObservationBody) => Promise<void> {
  const url = `${ingestUrl.replace(/\/+$/, '')}/api/agent/gpu-allocation/observation`;
  return async (body) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the observation was answered ${response.status}`);
  };
}
