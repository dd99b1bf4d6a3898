import { allocationRowOf } from '#domain/allocation';
import { commandDigest } from '#domain/command-digest';
import { type AppendPort, LogBusy, type LogReader } from '#domain/log';
import { isExpired, renewPrompt } from '#domain/prompt/renewal';
import { eventIdOf } from '#events/envelope';
import { PromptRenewed } from '#events/prompt.events';
import { loadAllocation } from './load-allocation.ts';

export interface QuestionRenewalOptions {
  readonly log: AppendPort & LogReader;
  /** UTC instant. */
  readonly now: () => string;
  readonly tokenLifeS: number;
}

const TRIES_MAX = 5;

/** Gives an open question that has outlived its token a new one when it is read again (fallback 6). */
export class QuestionRenewal {
  readonly #options: QuestionRenewalOptions;

  constructor(options: QuestionRenewalOptions) {
    this.#options = options;
  }

  /**
   * The id under which the question may be answered now; that of `originId` itself once it is no longer open.
   * Rejects with LogBusy when every renewal met a newer decision, and with LogUnavailable.
   */
  async newestIdOf(stream: string, originId: string): Promise<string> {
    const { log, now, tokenLifeS } = this.#options;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const state = await loadAllocation(log, stream);
      const open = state?.scalars.openQuestion ?? null;
      if (state === null || open === null || open.originId !== originId) return originId;
      const at = now();
      if (!isExpired(open, at)) return open.eventId;

      const commandId = `renew-${open.eventId}`;
      const decisionId = eventIdOf(commandId, 0);
      const renewal = renewPrompt(state, { at, decisionId, tokenLifeS });
      if (renewal === null) return open.eventId;
      const [result] = await log.append([
        {
          commandId,
          digest: commandDigest('renew', open.eventId),
          stream,
          expected: { decisionVersion: state.version },
          occurredAt: at,
          events: [
            {
              event: PromptRenewed.create(renewal.data),
              meta: { causedBy: open.eventId, saw: state.version },
            },
          ],
          allocation: allocationRowOf(renewal.state.scalars),
        },
      ]);
      if (result?.outcome === 'appended' || result?.outcome === 'duplicate') return decisionId;
      // Another reader renewed it first, or it was answered meanwhile: read again and show what is true then.
    }
    // Any token shown now might be dead already: the caller repeats, and nothing is lost.
    throw new LogBusy('every renewal met a newer decision');
  }
}
