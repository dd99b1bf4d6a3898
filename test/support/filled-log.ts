import { type Allocation, allocationRowOf, UNKNOWN_ALLOCATION } from '#domain/allocation';
import { eventOfFact, type Fact } from '#domain/fact';
import type { Command, CommandEvent } from '#domain/log';
import { placementRowOf } from '#domain/placement-row';
import { type AttemptToDecide, decideAttempt } from '#domain/prompt/prompt';
import { eventIdOf } from '#events/envelope';
import { instantMs } from '#events/instant';
import { allocationStream } from '#events/streams';
import type { Observation } from '#events/watch.events';
import { at, attempt, DEFAULT_RULES, digestOf } from './builders.ts';
import { openLog, withClient } from './open-log.ts';
import { gone, guest, poll, Story, works } from './watch-builders.ts';

export interface FilledLog {
  readonly events: number;
  readonly allocations: number;
  /** The allocation with the longest story, and how many events it has. */
  readonly long: { readonly ref: string; readonly events: number };
  /** One of the ordinary kind, from the middle. */
  readonly ordinary: string;
  /** One that bills and has an open alert. */
  readonly billing: string;
}

export interface FillOptions {
  /** At least so many events, most of them in stories of ten. */
  readonly events: number;
  /** Events of the one long story. */
  readonly longEvents: number;
  readonly onProgress?: (events: number) => void;
}

const STORIES_AT_ONCE = 128;
/** Of one append call. */
const COMMANDS_MAX = 256;
const ATTEMPTS_IN_COMMAND = 30;
/** Of so many placements one still bills, with an alert. */
const BILLING_ONE_IN = 40;

/**
 * Fills an empty database with the log of a deployment that has run for long: attempts that were decided by the
 * rules, and placements that ended, save a few. By the append function itself, so that it verifies and replays.
 */
export async function fillLog(url: string, options: FillOptions): Promise<FilledLog> {
  const log = await openLog(url, {
    maxBatchCommands: 256,
    appendDeadlineMs: 60_000,
    attemptTimeoutMs: 30_000,
  });
  let events = 0;
  const append = async (commands: readonly Command[]) => {
    const results = [];
    for (let done = 0; done < commands.length; done += COMMANDS_MAX) {
      results.push(...(await log.append(commands.slice(done, done + COMMANDS_MAX))));
    }
    const refused = results.find(({ outcome }) => outcome !== 'appended');
    if (refused !== undefined) throw new Error(`a command of the fill was answered ${refused.outcome}`);
    for (const command of commands) events += command.events.length;
    options.onProgress?.(events);
  };
  try {
    const long = digestOf('long');
    for (const command of attemptCommands(long, options.longEvents / 2)) await append([command]);
    const refs: string[] = [];
    while (events < options.events) {
      const commands = Array.from({ length: STORIES_AT_ONCE }, () => {
        const ref = filledRef(refs.length);
        refs.push(ref);
        return storyOf(ref, refs.length);
      });
      await append(commands.flat());
    }
    const [ordinary, billing] = [refs[Math.floor(refs.length / 2)], refs[PLACED_ONE_IN * BILLING_ONE_IN - 1]];
    if (ordinary === undefined || billing === undefined)
      throw new Error('the fill is too small to ask about');
    return {
      events,
      allocations: refs.length + 1,
      long: { ref: long, events: options.longEvents },
      ordinary,
      billing,
    };
  } finally {
    await log.close();
    // What the server does by itself in a deployment's idle moments.
    await withClient(url, (client) => client.query('vacuum (analyze) spillway.event, spillway.allocation'));
  }
}

/** Of so many allocations one was launched. */
const PLACED_ONE_IN = 4;

/** The ref of the allocation of a number, from 0 on. */
function filledRef(number: number): string {
  return digestOf(`allocation ${number}`);
}

/** Refs of so many allocations with ten events each, attempts and their decisions, of a log that has as many. */
export function refsOfAttempts(count: number): readonly string[] {
  const numbers = Array.from({ length: count }, (_, index) => index);
  // Each story is told under the number behind its ref.
  return numbers.map((index) =>
    filledRef(Math.floor(index / (PLACED_ONE_IN - 1)) * PLACED_ONE_IN + (index % (PLACED_ONE_IN - 1))),
  );
}

function storyOf(ref: string, number: number): readonly Command[] {
  if (number % PLACED_ONE_IN !== 0) return attemptCommands(ref, 5);
  return placementCommands(ref, number % (PLACED_ONE_IN * BILLING_ONE_IN) === 0 ? BILLING : ENDED);
}

/** Failures that count, each with its decision; from the third on a question is open. */
function attemptCommands(ref: string, attempts: number): readonly Command[] {
  const commands: Command[] = [];
  let state = UNKNOWN_ALLOCATION;
  for (let done = 0; done < attempts; done += ATTEMPTS_IN_COMMAND) {
    const count = Math.min(attempts - done, ATTEMPTS_IN_COMMAND);
    const decided = decidedAttempts(ref, state, { commandId: `${ref} ${done}`, first: done, count });
    commands.push(decided.command);
    state = decided.after;
  }
  return commands;
}

/** Attempts from the `first` on, decided one after the other on the state before them. */
export function decidedAttempts(
  ref: string,
  before: Allocation,
  { commandId, first, count }: { readonly commandId: string; readonly first: number; readonly count: number },
): { readonly command: Command; readonly after: Allocation } {
  const events: CommandEvent[] = [];
  // All decisions of a command saw the state before it.
  const saw = before.version;
  let state = before;
  for (let number = first; number < first + count; number += 1) {
    const causedBy = eventIdOf(commandId, events.length);
    const one = attemptOf(number, eventIdOf(commandId, events.length + 1));
    const { state: after, ...decision } = decideAttempt(state, one, DEFAULT_RULES);
    const reported = eventOfFact({ type: 'AttemptReported', data: one.input });
    events.push(
      { event: reported, meta: { causedBy: null, saw: null } },
      { event: eventOfFact(decision), meta: { causedBy, saw } },
    );
    state = after;
  }
  const command: Command = {
    stream: allocationStream(ref),
    expected: 'any',
    occurredAt: at(0),
    events,
    ringKeyId: 'key-1',
    commandId,
    digest: digestOf(commandId),
    allocation: allocationRowOf(state.scalars),
  };
  return { command, after: state };
}

/** Now and then the evidence is another one. */
function attemptOf(number: number, decisionId: string): AttemptToDecide {
  return { ...attempt({ at: number, evidence: `evidence ${number % 10}` }), decisionId };
}

/** What is recorded at so many seconds of a placement's life, together with the poll that it was decided on. */
interface Step {
  readonly seconds: number;
  readonly observation: Observation | null;
  readonly facts: readonly Fact[];
}

function placementOf(...polls: readonly Observation[]) {
  const story = new Story().launch().placed(60, 'od_a', 'X1', { costPerHourUsd: 2 });
  const [launched, placed] = story.facts;
  const begun = [launched, placed].flatMap((fact) => (fact === undefined ? [] : [fact]));
  const steps: Step[] = begun.map((fact, index) => ({
    seconds: 60 * index,
    observation: null,
    facts: [fact],
  }));
  for (const observation of polls) {
    const seconds = (instantMs(observation.observedAt) - instantMs(at(0))) / 1_000;
    steps.push({ seconds, observation, facts: story.see(observation) });
  }
  return { steps, row: placementRowOf(story.placement) };
}

const ENDED = placementOf(
  works(120),
  works(180, guest('finalizing', true)),
  poll(240, 'running', guest('done', true)),
  gone(300),
);
/** Its guest says for long that it failed, on a machine that is up: somebody is told. */
const BILLING = placementOf(
  works(120),
  poll(180, 'running', guest('failed', true)),
  poll(1_200, 'running', guest('failed', true)),
);

function placementCommands(ref: string, { steps, row }: typeof ENDED): readonly Command[] {
  let version = 0;
  return steps.map(({ seconds, observation, facts }, index) => {
    const commandId = `${ref} placement ${index}`;
    const saw = version;
    version += facts.length;
    const causedBy = observation === null ? null : eventIdOf(commandId, 0);
    const decided = facts.map((fact) => ({ event: eventOfFact(fact), meta: { causedBy, saw } }));
    return {
      commandId,
      digest: digestOf(commandId),
      stream: allocationStream(ref),
      expected: 'any',
      occurredAt: at(seconds),
      ringKeyId: 'key-1',
      events: observation === null ? decided : [reportOf(observation), ...decided],
      placement: row,
    };
  });
}

function reportOf(observation: Observation): CommandEvent {
  const data = {
    messageIdDigest: null,
    bodyDigest: digestOf('poll'),
    reportedBy: 'local',
    observation,
  } as const;
  return {
    event: eventOfFact({ type: 'ObservationReported', data }),
    meta: { causedBy: null, saw: null },
  };
}
