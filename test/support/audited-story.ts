import { type AuditedState, evolveAudited, NOTHING_RECORDED } from '#domain/audit/audited-state';
import type { Fact } from '#domain/fact';
import { canonicalJson } from '#events/canonical-json';
import { CATALOGUE, type KnownEvent } from '#events/catalogue';
import { readEvent } from '#events/upcast';
import type { Observation } from '#events/watch.events';
import { at, digestOf, idOf } from './builders.ts';
import { recordedRow } from './recorded.ts';
import { Story } from './watch-builders.ts';

/** A stream as an auditor reads it: facts at so many seconds, each a row behind the one before. */
export class AuditedStory {
  readonly events: KnownEvent[] = [];
  /** The states, one after each event. */
  readonly states: AuditedState[] = [];
  #decisions = 0;

  /** Facts and inputs that were recorded at so many seconds. */
  add(seconds: number, ...facts: readonly Fact[]): this {
    for (const fact of facts) {
      const { role } = CATALOGUE[fact.type];
      const place = this.events.length + 1;
      this.#decisions += role === 'decision' ? 1 : 0;
      const event = readEvent(
        recordedRow({
          pos: place,
          streamVersion: place,
          decisionVersion: this.#decisions,
          eventId: idOf(`event ${place}`),
          type: fact.type,
          role,
          occurredAt: at(seconds),
          recordedAt: at(seconds),
          body: canonicalJson(fact.data),
        }),
      );
      this.states.push(evolveAudited(this.state, event));
      this.events.push(event);
    }
    return this;
  }

  /** A poll that somebody reported. */
  polled(observation: Observation): this {
    const seconds = (Date.parse(observation.observedAt) - Date.parse(at(0))) / 1_000;
    return this.add(seconds, {
      type: 'ObservationReported',
      data: { messageIdDigest: null, bodyDigest: digestOf('poll'), reportedBy: 'local', observation },
    });
  }

  get state(): AuditedState {
    return this.states.at(-1) ?? NOTHING_RECORDED;
  }
}

/** A launch at 0 s whose first on-demand rung gives `X1` at 60 s, at two dollars an hour unless changed. */
export function launched(costPerHourUsd: number | null = 2): AuditedStory {
  const story = new Story().launch().placed(60, 'od_a', 'X1', { costPerHourUsd });
  const [first, ...rest] = story.facts;
  const told = new AuditedStory();
  return first === undefined ? told : told.add(0, first).add(60, ...rest);
}
