import { LRUCache } from 'lru-cache';
import { actorOf } from '#domain/actor';
import { commandDigest } from '#domain/command-digest';
import { digest } from '#domain/digest';
import type { KeyRing } from '#domain/key-ring';
import { type AppendPort, type Command, LogBusy, type LogReader } from '#domain/log';
import type { Marks } from '#domain/log-tables';
import { type MessageName, messageCommandId, messageIdDigest } from '#domain/message-ids';
import { readCreateError } from '#domain/provision/create-error';
import { changesNothing, type NoChange } from '#domain/watch/changes-nothing';
import { KEEP_EVERY_MS } from '#domain/watch/kept-observations';
import {
  createErrorOf,
  type ObservationBody,
  observationBodyDigest,
  observationOf,
} from '#domain/watch/observation-body';
import type { FoundStream, StreamFinder } from '#event-log/find-stream';
import type { PlacementStates, PlacementView } from '#event-log/placement-states';
import { canonicalJson } from '#events/canonical-json';
import { eventIdOf } from '#events/envelope';
import { instantMs, plusSeconds } from '#events/instant';
import { type Observation, ObservationReported, type Verdict } from '#events/watch.events';
import type { Clock } from '#platform/clock';
import type { Sealer, Sealing } from '#platform/sealer';

export interface ObservationIntakeOptions {
  readonly ring: KeyRing;
  readonly streams: StreamFinder;
  readonly placements: PlacementStates;
  readonly log: AppendPort & LogReader & { readonly marks: Marks };
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly failureRetentionS: number;
}

export type TakenObservation =
  | { readonly kind: 'recorded' | 'repeat'; readonly observationEventId: string }
  /** Nothing is different after it: no event was added (failover 3.8). `position` = up to where the log was read. */
  | { readonly kind: 'unchanged'; readonly verdict: Verdict; readonly position: number }
  | { readonly kind: 'refused'; readonly why: 'id_reused' | 'never_launched' };

/** Each lost race means that somebody decided meanwhile; after so many the caller is asked to repeat. */
const LOST_RACES_MAX = 50;
const UNRECORDED_IDS_MAX = 20_000;

interface Unrecorded {
  readonly bodyDigest: string;
  readonly taken: TakenObservation;
}

interface Sealed {
  readonly observation: Observation;
  readonly sealing: Sealing;
}

/** Takes observations: those that change nothing move a mark, the others are recorded and judged (failover 2.2). */
export class ObservationIntake {
  readonly #options: ObservationIntakeOptions;
  /**
   * Ids of observations of which nothing is recorded, for a repeat with another body. After a restart, or at
   * another process, such a body is taken like a new one: all that is lost is the refusal.
   */
  readonly #unrecorded = new LRUCache<string, Unrecorded>({ max: UNRECORDED_IDS_MAX });

  constructor(options: ObservationIntakeOptions) {
    this.#options = options;
  }

  /** Id of the event that an observation of this name will be, if it is recorded. */
  eventIdOf(name: MessageName): string {
    return eventIdOf(messageCommandId('observation', name, this.#options.ring.newest), 0);
  }

  /** Takes an observation once, however often it is sent. Rejects with LogUnavailable or LogBusy. */
  async take(body: ObservationBody, name: MessageName, subject: string): Promise<TakenObservation> {
    const { ring, streams, placements } = this.#options;
    const repeated = await this.#earlier(body, name);
    if (repeated !== null) return repeated;

    const place = await streams.find(body.logical_allocation);
    for (let races = 0; races < LOST_RACES_MAX; races += 1) {
      const view = await placements.view(place.stream);
      if (view.placement.launch === null) return { kind: 'refused', why: 'never_launched' };
      const sealed = await this.#sealed(body, place);
      const quiet = await this.#quiet(view, place.stream, sealed.observation);
      if (quiet === null) return this.#record(body, name, subject, place, sealed);

      const taken = { kind: 'unchanged', verdict: quiet.verdict, position: view.pos } as const;
      if (quiet.movesMark && !(await this.#moveMark(view, place.stream, sealed.observation))) continue;
      const bodyDigest = observationBodyDigest(body, ring.newest);
      this.#unrecorded.set(messageCommandId('observation', name, ring.newest), { bodyDigest, taken });
      return taken;
    }
    throw new LogBusy('every mark met a newer decision');
  }

  /** What is said of an observation that need not be recorded; null = it must be (failover 3.8). */
  async #quiet(view: PlacementView, stream: string, observation: Observation): Promise<NoChange | null> {
    // What is reported and not judged yet may change what this one means: they are judged in their order.
    if (view.kept.unjudged.size > 0) return null;
    const marks = await this.#options.log.marks.of(stream);
    const mark = marks.find(({ instance }) => instance === observation.instance)?.observedAt ?? null;
    const change = changesNothing(view.placement, observation, mark);
    if (change === null || !change.movesMark) return change;
    const kept = view.kept.newest.get(observation.instance);
    const isDue = kept === undefined || instantMs(observation.observedAt) - instantMs(kept) >= KEEP_EVERY_MS;
    return isDue ? null : change;
  }

  /** False when something was decided since the view: whether it changes nothing is to be asked again. */
  async #moveMark(view: PlacementView, stream: string, observation: Observation): Promise<boolean> {
    const { instance, observedAt } = observation;
    const [result] = await this.#options.log.append([
      {
        commandId: `mark-${stream}-${view.placement.version}`,
        digest: commandDigest('observation', `${instance}\n${observedAt}`),
        stream,
        expected: { decisionVersion: view.placement.version },
        occurredAt: this.#options.clock.now(),
        events: [],
        mark: { instance, observedAt },
      },
    ]);
    return result?.outcome === 'appended';
  }

  async #record(
    body: ObservationBody,
    name: MessageName,
    subject: string,
    place: FoundStream,
    { observation, sealing }: Sealed,
  ): Promise<TakenObservation> {
    const { ring, clock, log, sealer } = this.#options;
    const bodyDigest = observationBodyDigest(body, ring.newest);
    const event = ObservationReported.create({
      messageIdDigest: name.kind === 'random' ? null : messageIdDigest(name, ring.newest),
      bodyDigest,
      reportedBy: actorOf(subject, place.key),
      observation,
    });
    const command: Command = {
      commandId: messageCommandId('observation', name, ring.newest),
      digest: commandDigest('observation', bodyDigest),
      stream: place.stream,
      expected: 'any',
      occurredAt: clock.now(),
      events: [{ event, meta: { causedBy: null, saw: null } }],
      ...sealing,
    };
    const observationEventId = eventIdOf(command.commandId, 0);
    const [result] = await log.append([command]);
    switch (result?.outcome) {
      case 'appended':
        sealer.stored(place.stream, sealing);
        return { kind: 'recorded', observationEventId };
      case 'duplicate':
        return { kind: 'repeat', observationEventId };
      case 'id_conflict':
        return ID_REUSED;
      default:
        throw new Error(`an observation that expects nothing was answered ${result?.outcome ?? 'nothing'}`);
    }
  }

  /** The text of a failed create is sealed; what it means stands in clear (failover 6). */
  async #sealed(body: ObservationBody, { key, stream }: FoundStream): Promise<Sealed> {
    const { sealer, clock, failureRetentionS } = this.#options;
    const error = createErrorOf(body);
    if (error === null) return { observation: observationOf(body, null), sealing: { sealed: [] } };

    const failureDigest = digest(key.digests, 'failure', error);
    const text = canonicalJson(error);
    const expiresAt = plusSeconds(clock.now(), failureRetentionS);
    const sealing = await sealer.seal(stream, [{ kind: 'failure', digest: failureDigest, text, expiresAt }]);
    return { observation: observationOf(body, { ...readCreateError(error), failureDigest }), sealing };
  }

  /** What the same id brought first, under whichever key of the ring it was taken then. */
  async #earlier(body: ObservationBody, name: MessageName): Promise<TakenObservation | null> {
    if (name.kind === 'random') return null;
    const { ring, log } = this.#options;
    for (const key of ring.newestFirst) {
      const commandId = messageCommandId('observation', name, key);
      const bodyDigest = observationBodyDigest(body, key);
      const unrecorded = this.#unrecorded.get(commandId);
      if (unrecorded !== undefined) {
        return unrecorded.bodyDigest === bodyDigest ? unrecorded.taken : ID_REUSED;
      }
      const row = await log.byEventId(eventIdOf(commandId, 0));
      if (row === null) continue;
      const known = ObservationReported.data.parse(JSON.parse(row.body));
      return known.bodyDigest === bodyDigest
        ? { kind: 'repeat', observationEventId: row.eventId }
        : ID_REUSED;
    }
    return null;
  }
}

const ID_REUSED: TakenObservation = { kind: 'refused', why: 'id_reused' };
