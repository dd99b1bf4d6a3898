import type {
  CreateAnswer,
  CreateRequest,
  DispatchAnswer,
  IntentMark,
  Lane,
  TerminateAnswer,
  Workload,
} from '#domain/provision/lane';
import type { Recorded } from './recorder.ts';

/** An irreversible call to a provider. */
export type Effect<Answer> = (lane: Lane) => Promise<Answer>;

export function creating(mark: IntentMark, request: CreateRequest): Effect<CreateAnswer> {
  return (lane) => lane.create(mark, request);
}

export function terminating(id: string): Effect<TerminateAnswer> {
  return (lane) => lane.terminate(id);
}

export function dispatching(id: string, guard: string, workload: Workload): Effect<DispatchAnswer> {
  return (lane) => lane.dispatch(id, guard, workload);
}

/**
 * The one way in which a create, a cancel, a terminate or a dispatch is sent: it takes the position of the
 * recorded fact, so that what was not recorded cannot be sent (failover 9.1).
 */
export function send<Answer>(recorded: Recorded, lane: Lane, effect: Effect<Answer>): Promise<Answer> {
  if (!Number.isInteger(recorded.firstPos) || recorded.firstPos < 1) {
    throw new Error('an irreversible call needs the position of the fact that announced it');
  }
  return effect(lane);
}
