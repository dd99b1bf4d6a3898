import { commandDigest } from '#domain/command-digest';
import { decideAnswer } from '#domain/consent/failover-answer';
import { type DigestLabel, digest } from '#domain/digest';
import type { Fact } from '#domain/fact';
import type { RingKey } from '#domain/key-ring';
import { readCreateError } from '#domain/provision/create-error';
import { changesNothing } from '#domain/watch/changes-nothing';
import { judgeObservation } from '#domain/watch/judge';
import { KEEP_EVERY_MS } from '#domain/watch/kept-observations';
import { PlacementStates } from '#event-log/placement-states';
import { instantMs } from '#events/instant';
import { refOfStream } from '#events/streams';
import type { Observation } from '#events/watch.events';
import { type LaunchInput, launchFacts, placedFacts } from './launch-input.ts';
import { decideOn, type RecordPlace, recordInput } from './record.ts';
import type { ScenarioObservation } from './scenario.ts';

/** A question of the simulation lives as long as a real one (fallback 6). */
const TOKEN_LIFE_S = 24 * 60 * 60;

export interface InputPlace extends RecordPlace {
  readonly key: RingKey;
}

/** Asks for a placement: request and acceptance are one command. Refused, and nothing changes, while one is under way. */
export function launch(place: InputPlace, input: LaunchInput): Promise<readonly Fact[]> {
  return decideOn(place, ({ placement }, eventIdAt) => {
    const facts = launchFacts(placement, input, eventIdAt(0));
    return facts === null ? null : { ...facts, causedBy: null };
  });
}

/** The shortcut of a scenario: the allocation is placed as if its launch had got this instance. */
export async function placed(
  place: InputPlace,
  input: LaunchInput,
  at: { readonly rung: string; readonly instance: string },
): Promise<void> {
  await launch(place, input);
  await decideOn(place, ({ placement }) => ({
    inputs: [],
    facts: placedFacts(placement, at, place.now()),
    causedBy: null,
  }));
}

/**
 * One poll. One that changes nothing moves its mark and adds no event (failover 3.8); any other is recorded as it
 * came, then judged on everything decided until then (failover 4.1).
 */
export async function observe(place: InputPlace, observation: Observation): Promise<readonly Fact[]> {
  const { key } = place;
  if (await isQuiet(place, observation)) return [];
  const bodyDigest = digest(key.digests, 'observation-body', observation);
  const input: Fact = {
    type: 'ObservationReported',
    data: { messageIdDigest: null, bodyDigest, reportedBy: 'local', observation },
  };
  const causedBy = await recordInput(place, input);
  const mark = await markOf(place, observation.instance);
  return decideOn(place, ({ placement, record }, eventIdAt) => ({
    inputs: [],
    facts: judgeObservation(placement, record, observation, {
      mark,
      question: { ...questionParts(place), askedAt: place.now() },
      eventIdAt,
    }),
    causedBy,
  }));
}

async function markOf({ log, stream }: InputPlace, instance: string): Promise<string | null> {
  const marks = await log.marks.of(stream);
  return marks.find((mark) => mark.instance === instance)?.observedAt ?? null;
}

/** Whether nothing is different after it; then its mark has moved, unless somebody decided meanwhile. */
async function isQuiet(place: InputPlace, observation: Observation): Promise<boolean> {
  const { log, stream } = place;
  const { instance, observedAt } = observation;
  const { placement, kept } = await new PlacementStates(log, 1).view(stream);
  if (kept.unjudged.size > 0) return false;
  const change = changesNothing(placement, observation, await markOf(place, instance));
  if (change === null || !change.movesMark) return change !== null;
  const newest = kept.newest.get(instance);
  if (newest === undefined || instantMs(observedAt) - instantMs(newest) >= KEEP_EVERY_MS) return false;
  const commandId = place.commandId();
  const [result] = await log.append([
    {
      commandId,
      digest: commandDigest('observation', commandId),
      stream,
      expected: { decisionVersion: placement.version },
      occurredAt: place.now(),
      events: [],
      mark: { instance, observedAt },
    },
  ]);
  return result?.outcome === 'appended';
}

/** The open question is answered by somebody who has its token. Without one nothing changes. */
export function answer(place: InputPlace, accept: boolean): Promise<readonly Fact[]> {
  return decideOn(place, ({ placement, record }, eventIdAt) => {
    const { openQuestion } = record.scalars;
    if (openQuestion === null) return null;
    const outcome = decideAnswer(placement, record, {
      accept,
      question: null,
      tokenMatches: true,
      answeredBy: 'local',
      decisionId: eventIdAt(1),
      at: place.now(),
    });
    if (outcome.kind === 'refused') return null;
    const questionId = openQuestion.eventId;
    const bodyDigest = digest(place.key.digests, 'answer-body', { accept, questionId });
    const answered: Fact = {
      type: 'ConsentAnswered',
      data: { answerIdDigest: null, bodyDigest, answeredBy: 'local', accept, questionId },
    };
    return { inputs: [answered], facts: outcome.facts, causedBy: null };
  });
}

/** What a question of this stream is made of, beside the time at which it is asked. */
export function questionParts({ key, stream }: Pick<InputPlace, 'key' | 'stream'>) {
  return {
    ref: refOfStream(stream) ?? '',
    tokenLifeS: TOKEN_LIFE_S,
    digestOf: (label: DigestLabel, value: unknown) => digest(key.digests, label, value),
  };
}

/** A scenario's poll with every default filled in (failover 2.2). */
export function observationOf(given: ScenarioObservation, observedAt: string): Observation {
  const { create_operation: createOperation = 'unknown', create_error: error, guest } = given;
  const read = readCreateError({ code: error?.code ?? null, message: error?.message ?? null });
  return {
    instance: given.instance,
    lane: given.lane ?? 'gcp',
    observedAt,
    provider: given.provider,
    guest: guest === undefined ? null : { phase: guest.phase, workloadStarted: guest.workload_started },
    alarm: given.alarm ?? 'none',
    logAgeS: given.log_age_s ?? null,
    createOperation,
    createError: createOperation === 'failed' ? { ...read, failureDigest: null } : null,
    deleteOperation: given.delete_operation ?? 'unknown',
    port: given.port ?? null,
  };
}
