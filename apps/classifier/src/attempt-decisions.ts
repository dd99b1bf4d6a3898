import { LRUCache } from 'lru-cache';
import { allocationRowOf } from '#domain/allocation';
import { decisionCommandId, decisionIdOf } from '#domain/attempt/attempt-ids';
import type { Classification } from '#domain/classify/classify';
import type { CodeTable } from '#domain/classify/code-table';
import { classifySealed, NOTHING_FAILED, TEXT_GONE } from '#domain/classify/sealed-failure';
import { commandDigest } from '#domain/command-digest';
import type { Command } from '#domain/log';
import { decideAttempt, type PromptRules } from '#domain/prompt/prompt';
import { CATALOGUE } from '#events/catalogue';
import type { NewEvent } from '#events/define-event';
import type { EventOfType } from '#messaging/log-transport';
import type { Clock } from '#platform/clock';
import type { Sealer } from '#platform/sealer';
import type { DecisionStates } from './decision-states.ts';

export interface AttemptDecisionsOptions {
  readonly states: DecisionStates;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly rules: PromptRules;
  /** Provider codes; today's unless given. */
  readonly table?: CodeTable;
}

const CLASSIFICATIONS_MAX = 20_000;

/** Classifies, counts, and asks: one decision per attempt (fallback 2, 3). */
export class AttemptDecisions {
  readonly #options: AttemptDecisionsOptions;
  /** By the digest of the failure: what was made of a text, never the text. */
  readonly #classified = new LRUCache<string, Classification>({ max: CLASSIFICATIONS_MAX });

  constructor(options: AttemptDecisionsOptions) {
    this.#options = options;
  }

  /** The command that records the decision about one attempt, expecting the version that it saw. */
  async decide(event: EventOfType<'AttemptReported'>): Promise<Command> {
    const { states, clock, rules } = this.#options;
    const { row, data } = event;
    const { generation } = states;
    const [state, classification] = await Promise.all([states.record(row.stream), this.#classify(event)]);
    const decidedAt = clock.now();
    const decisionId = decisionIdOf(row.eventId);
    const decided = decideAttempt(
      state,
      {
        input: data,
        recordedAt: row.recordedAt,
        decidedAt,
        decisionId,
        classification,
      },
      rules,
    );
    states.decided(
      row.stream,
      decided.state,
      [{ ...decided, eventId: decisionId, at: decidedAt }],
      generation,
    );
    return {
      commandId: decisionCommandId(row.eventId),
      digest: commandDigest('decide', row.eventId),
      stream: row.stream,
      expected: { decisionVersion: state.version },
      occurredAt: decidedAt,
      events: [{ event: eventOf(decided), meta: { causedBy: row.eventId, saw: state.version } }],
      allocation: allocationRowOf(decided.state.scalars),
    };
  }

  async #classify({ row, data }: EventOfType<'AttemptReported'>): Promise<Classification> {
    if (data.failureDigest === null) return NOTHING_FAILED;
    const known = this.#classified.get(data.failureDigest);
    if (known !== undefined) return known;

    const text = await this.#options.sealer.open(row.stream, 'failure', data.failureDigest);
    if (text === null) return TEXT_GONE;
    const classification = classifySealed(text, this.#options.table);
    this.#classified.set(data.failureDigest, classification);
    return classification;
  }
}

function eventOf(decided: ReturnType<typeof decideAttempt>): NewEvent {
  switch (decided.type) {
    case 'AttemptTracked':
      return CATALOGUE.AttemptTracked.create(decided.data);
    case 'AttemptIgnored':
      return CATALOGUE.AttemptIgnored.create(decided.data);
    case 'AllocationSucceeded':
      return CATALOGUE.AllocationSucceeded.create(decided.data);
    case 'FallbackPrompted':
      return CATALOGUE.FallbackPrompted.create(decided.data);
  }
}
