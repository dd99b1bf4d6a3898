import { expect } from 'vitest';
import type { Decider } from '#domain/decider';

/** What a specification says of one command. */
export interface Outcome<Event> {
  /** Exactly these events, whole, in this order. */
  then(...expected: readonly Event[]): void;
  thenNothing(): void;
}

export interface History<Command, Event> {
  when(command: Command): Outcome<Event>;
}

/**
 * A rule as its specification reads: given these events, when this command comes, then those follow
 * (a rule is a pure function, so nothing has to be set up).
 */
export function specify<State, Command, Event>(
  rule: Decider<State, Command, Event>,
): (...history: readonly Event[]) => History<Command, Event> {
  return (...history) => ({
    when(command) {
      const state = history.reduce((before, event) => rule.evolve(before, event), rule.initial);
      const decided = rule.decide(state, command);
      return {
        // biome-ignore lint/suspicious/noThenProperty: given, when, then is how a rule reads; nobody awaits it.
        then(...expected) {
          expect(decided).toEqual(expected);
        },
        thenNothing() {
          expect(decided).toEqual([]);
        },
      };
    },
  });
}
