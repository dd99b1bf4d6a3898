import { digest } from '#domain/digest';
import type { LaneFailure, Workload } from '#domain/provision/lane';
import { SealedWorkload } from '#domain/provision/plan';
import type { StreamFinder } from '#event-log/find-stream';
import { canonicalJson } from '#events/canonical-json';
import { plusSeconds } from '#events/instant';
import type { Clock } from '#platform/clock';
import type { Sealer } from '#platform/sealer';
import type { LaunchTexts, SealedFailure } from './parts.ts';

export interface SealedTextsOptions {
  readonly sealer: Sealer;
  readonly streams: StreamFinder;
  readonly clock: Clock;
  readonly retentionDays: number;
}

const DAY_S = 86_400;

/** The sealed texts of launches, opened only where they are sent to a provider (fallback 7). */
export class SealedTexts implements LaunchTexts {
  readonly #options: SealedTextsOptions;

  constructor(options: SealedTextsOptions) {
    this.#options = options;
  }

  async workload(stream: string, workloadDigest: string): Promise<Workload | null> {
    const text = await this.#options.sealer.open(stream, 'launch', workloadDigest);
    return text === null ? null : SealedWorkload.parse(JSON.parse(text));
  }

  async name(stream: string): Promise<string | null> {
    const { ref } = await this.#options.streams.ofStream(stream);
    return this.#options.sealer.open(stream, 'name', ref);
  }

  async sealFailure(stream: string, failure: LaneFailure): Promise<SealedFailure> {
    const { sealer, streams, clock, retentionDays } = this.#options;
    const { key } = await streams.ofStream(stream);
    const { provider, call, status, code, text, sent } = failure;
    const body = { provider, call, status, code, message: text, sent };
    const failureDigest = digest(key.digests, 'failure', body);
    const expiresAt = plusSeconds(clock.now(), retentionDays * DAY_S);
    const sealing = await sealer.seal(stream, [
      { kind: 'failure', digest: failureDigest, text: canonicalJson(body), expiresAt },
    ]);
    return { digest: failureDigest, parts: sealing };
  }
}
