import { allocationRowOf, isAllocationFact } from '#domain/allocation';
import { decisionCommandId } from '#domain/attempt/attempt-ids';
import { commandDigest } from '#domain/command-digest';
import { afterFacts, eventOfFact } from '#domain/fact';
import { streamDigest } from '#domain/intent/question-context';
import type { Command } from '#domain/log';
import type { Marks } from '#domain/log-tables';
import { placementRowOf } from '#domain/placement-row';
import { judgeObservation } from '#domain/watch/judge';
import type { StreamFinder } from '#event-log/find-stream';
import { eventIdOf } from '#events/envelope';
import type { EventOfType } from '#messaging/log-transport';
import type { Clock } from '#platform/clock';
import type { DecisionStates } from './decision-states.ts';

export interface ObservationDecisionsOptions {
  readonly states: DecisionStates;
  readonly marks: Marks;
  readonly streams: StreamFinder;
  readonly clock: Clock;
  /** Life of a question's token, in seconds. */
  readonly tokenLifeS: number;
}

/** Judges observations: one command with everything that follows from it, on the version it saw (failover 4, 8.2). */
export class ObservationDecisions {
  readonly #options: ObservationDecisionsOptions;

  constructor(options: ObservationDecisionsOptions) {
    this.#options = options;
  }

  /** The command that records the judgement of one observation. Rejects with LogUnavailable or LostPlace. */
  async decide({ row, data }: EventOfType<'ObservationReported'>): Promise<Command> {
    const { states, marks, streams, clock, tokenLifeS } = this.#options;
    const { stream } = row;
    const { observation } = data;
    const { generation } = states;
    const [before, known, { key, ref }] = await Promise.all([
      states.standing(stream),
      marks.of(stream),
      streams.ofStream(stream),
    ]);
    const commandId = decisionCommandId(row.eventId);
    const eventIdAt = (index: number) => eventIdOf(commandId, index);
    const facts = judgeObservation(before.placement, before.record, observation, {
      mark: known.find(({ instance }) => instance === observation.instance)?.observedAt ?? null,
      question: { ref, askedAt: clock.now(), tokenLifeS, digestOf: streamDigest(key) },
      eventIdAt,
    });
    // All rule clocks run on the time of the observation, that of the block too (failover 3.4).
    const at = observation.observedAt;
    const after = afterFacts(before, facts, { at, eventIdAt });
    const saw = before.placement.version;
    states.decided(
      stream,
      after.record,
      facts.map((fact, index) => ({ ...fact, eventId: eventIdAt(index), at })),
      generation,
    );
    return {
      commandId,
      digest: commandDigest('decide', row.eventId),
      stream,
      expected: { decisionVersion: saw },
      occurredAt: at,
      events: facts.map((fact) => ({ event: eventOfFact(fact), meta: { causedBy: row.eventId, saw } })),
      placement: placementRowOf(after.placement),
      ...(facts.some(isAllocationFact) ? { allocation: allocationRowOf(after.record.scalars) } : {}),
    };
  }
}
