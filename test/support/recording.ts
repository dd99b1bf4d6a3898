import { eventOfFact, type Fact } from '#domain/fact';
import { canonicalJson } from '#events/canonical-json';
import type { RecordedEvent } from '#events/envelope';
import type { Observation } from '#events/watch.events';
import { at, digestOf, idOf } from './builders.ts';
import { recordedRow } from './recorded.ts';
import type { Story } from './watch-builders.ts';

/** A story as the rows of one stream, each judgement behind its observation and in one command with what follows. */
export class Recording {
  readonly rows: RecordedEvent[] = [];
  #decisions = 0;
  #commands = 0;

  constructor(readonly story: Story) {
    for (const fact of story.facts) this.#command([fact], null);
  }

  see(...polls: readonly Observation[]): this {
    for (const observation of polls) {
      const causedBy = idOf(`observation ${this.rows.length}`);
      const data = { messageIdDigest: null, bodyDigest: digestOf('body'), reportedBy: 'local', observation };
      this.#row(
        { type: 'ObservationReported', data },
        { eventId: causedBy, role: 'input', occurredAt: observation.observedAt },
      );
      const before = this.story.facts.length;
      this.story.see(observation);
      this.#command(this.story.facts.slice(before), causedBy, observation.observedAt);
    }
    return this;
  }

  add(seconds: number, ...facts: readonly Fact[]): this {
    this.story.add(seconds, ...facts);
    this.#command(facts, null, at(seconds));
    return this;
  }

  #command(facts: readonly Fact[], causedBy: string | null, occurredAt = at(0)): void {
    const saw = this.#decisions;
    const commandId = `command ${this.#commands++}`;
    for (const fact of facts) {
      const eventId = idOf(`fact ${this.#decisions}`);
      this.#decisions += 1;
      this.#row(fact, { eventId, commandId, occurredAt, meta: canonicalJson({ causedBy, saw }) });
    }
  }

  #row(fact: Fact, change: Partial<RecordedEvent>): void {
    const streamVersion = this.rows.length + 1;
    const { type, data } = eventOfFact(fact);
    const places = { pos: 10 + streamVersion, streamVersion, decisionVersion: this.#decisions };
    this.rows.push(
      recordedRow({
        commandId: `input ${streamVersion}`,
        ...places,
        type,
        body: canonicalJson(data),
        ...change,
      }),
    );
  }
}
