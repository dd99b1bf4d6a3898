import { allocationRowOf, isAllocationFact } from '#domain/allocation';
import { commandDigest } from '#domain/command-digest';
import { afterFacts, eventOfFact, type Fact } from '#domain/fact';
import type { AppendResult, Command, CommandEvent } from '#domain/log';
import type { Log } from '#domain/log-tables';
import { placementRowOf } from '#domain/placement-row';
import { eventIdOf } from '#events/envelope';
import { readState, type StreamState } from './stream-state.ts';

/** What somebody records: inputs as they came, and what was decided on them. */
export interface Said {
  readonly inputs: readonly Fact[];
  readonly facts: readonly Fact[];
  /** The input that caused the facts; null = the first of `inputs`. */
  readonly causedBy: string | null;
}

export interface RecordPlace {
  readonly log: Log;
  readonly stream: string;
  readonly commandId: () => string;
  readonly now: () => string;
}

/** Lost races in a row before something else must be wrong. */
const RACES_MAX = 50;

/**
 * Decides on the stream as it stands and appends that on exactly this version; whoever loses the race decides
 * anew on what the winner wrote (failover 8.2). Null from `decide` = nothing is to be recorded. Answers the facts
 * that were recorded.
 */
export async function decideOn(
  place: RecordPlace,
  decide: (state: StreamState, eventIdAt: (index: number) => string) => Said | null,
): Promise<readonly Fact[]> {
  for (let races = 0; races < RACES_MAX; races += 1) {
    const commandId = place.commandId();
    const state = await readState(place.log, place.stream);
    const said = decide(state, (index) => eventIdOf(commandId, index));
    if (said === null) return [];
    const [result] = await place.log.append([commandOf(place, commandId, state, said)]);
    if (result?.outcome === 'appended') return said.facts;
    if (result?.outcome !== 'wrong_version') throw unexpected(result);
  }
  throw new Error(`${RACES_MAX} races for one decision were lost`);
}

/** Appends an input as it comes: whatever was decided meanwhile. Answers its event id. */
export async function recordInput(place: RecordPlace, input: Fact): Promise<string> {
  const commandId = place.commandId();
  const command: Command = {
    commandId,
    digest: commandDigest('decide', commandId),
    stream: place.stream,
    expected: 'any',
    occurredAt: place.now(),
    events: [{ event: eventOfFact(input), meta: { causedBy: null, saw: null } }],
  };
  const [result] = await place.log.append([command]);
  if (result?.outcome !== 'appended') throw unexpected(result);
  return eventIdOf(commandId, 0);
}

function commandOf(
  { stream, now }: RecordPlace,
  commandId: string,
  { placement, record, events }: StreamState,
  { inputs, facts, causedBy }: Said,
): Command {
  const at = now();
  const saw = placement.version;
  const cause = causedBy ?? (inputs.length > 0 ? eventIdOf(commandId, 0) : null);
  const commandEvents: CommandEvent[] = [
    ...inputs.map((fact) => ({ event: eventOfFact(fact), meta: { causedBy: null, saw: null } })),
    ...facts.map((fact) => ({ event: eventOfFact(fact), meta: { causedBy: cause, saw } })),
  ];
  const eventIdAt = (index: number) => eventIdOf(commandId, inputs.length + index);
  const after = afterFacts({ placement, record }, facts, { at, eventIdAt });
  return {
    commandId,
    digest: commandDigest('decide', commandId),
    stream,
    expected: events.length === 0 ? 'new' : { decisionVersion: saw },
    occurredAt: at,
    events: commandEvents,
    placement: placementRowOf(after.placement),
    ...(facts.some(isAllocationFact) ? { allocation: allocationRowOf(after.record.scalars) } : {}),
  };
}

function unexpected(result: AppendResult | undefined): Error {
  return new Error(`an append of the simulation was answered ${result?.outcome ?? 'nothing'}`);
}
