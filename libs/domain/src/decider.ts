/** A rule with its state: pure, so that replay gives the same answer years later (design 7). */
export interface Decider<State, Command, Event> {
  readonly initial: State;
  /** All choosing happens here. Clock, ids and digests come in with the command. */
  decide(state: State, command: Command): readonly Event[];
  /** No choosing happens here: the event says what was decided. */
  evolve(state: State, event: Event): State;
}
