import { WAIT_REASONS, type WaitReason } from '#domain/provision/step';
import type { Wait } from '#domain/provision/waits';

/** What the runs of this process wait for, by allocation: for a metric, and for no decision (failover 13). */
export class Waiting {
  readonly #waits = new Map<string, Wait>();

  /** How the newest run on an allocation ended; null = it waits for nothing. */
  learn(stream: string, wait: Wait | null): void {
    if (wait === null) this.#waits.delete(stream);
    else this.#waits.set(stream, wait);
  }

  /** Forgets those that a pass does not walk any more, save who only waits for a moment that is still to come. */
  keep(walked: ReadonlySet<string>, now: string): void {
    for (const [stream, { until }] of this.#waits) {
      if (!walked.has(stream) && (until === null || until <= now)) this.#waits.delete(stream);
    }
  }

  /** Allocations that wait, for every reason there is. */
  counts(): readonly { readonly reason: WaitReason; readonly count: number }[] {
    const waits = [...this.#waits.values()];
    return WAIT_REASONS.map((reason) => ({
      reason,
      count: waits.filter(({ why }) => why === reason).length,
    }));
  }
}
