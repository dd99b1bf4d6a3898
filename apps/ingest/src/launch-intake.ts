import { actorOf } from '#domain/actor';
import { invariantsOf } from '#domain/attempt/invariants';
import { commandDigest } from '#domain/command-digest';
import { digest } from '#domain/digest';
import type { KeyRing } from '#domain/key-ring';
import { type AppendPort, type Command, LogBusy, type LogReader } from '#domain/log';
import { type MessageName, messageCommandId, messageIdDigest } from '#domain/message-ids';
import type { Placement } from '#domain/placement';
import { evolvePlacement } from '#domain/placement-fold';
import { placementRowOf } from '#domain/placement-row';
import { decideLaunch } from '#domain/provision/decide-launch';
import type { LaneDirectory } from '#domain/provision/lane-directory';
import { type LaunchBody, launchBodyDigest } from '#domain/provision/launch-body';
import { resolvePlan, workloadDigest, workloadOf } from '#domain/provision/plan';
import type { FoundStream, StreamFinder } from '#event-log/find-stream';
import type { PlacementStates } from '#event-log/placement-states';
import { canonicalJson } from '#events/canonical-json';
import type { DataOfType } from '#events/catalogue';
import { eventIdOf } from '#events/envelope';
import type { Limits } from '#events/plan';
import { LaunchAccepted, LaunchRequested } from '#events/provision.events';
import type { Clock } from '#platform/clock';
import type { Sealer, Sealing, ToSeal } from '#platform/sealer';

export interface LaunchIntakeOptions {
  readonly ring: KeyRing;
  readonly streams: StreamFinder;
  readonly placements: PlacementStates;
  readonly log: AppendPort & LogReader;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly lanes: LaneDirectory;
  /** The deployment's, for what a launch does not name. */
  readonly limits: Limits;
}

export type TakenLaunch =
  | { readonly kind: 'taken'; readonly launchEventId: string; readonly position: number }
  | { readonly kind: 'refused'; readonly why: 'id_reused' | 'launch_in_progress' };

/** Each lost race means that somebody decided meanwhile; after so many the caller is asked to repeat. */
const LOST_RACES_MAX = 50;

const IN_PROGRESS: TakenLaunch = { kind: 'refused', why: 'launch_in_progress' };

interface ToLaunch {
  readonly body: LaunchBody;
  readonly name: MessageName;
  readonly subject: string;
  readonly place: FoundStream;
}

/** Takes launches: request and acceptance are one command on the version that was judged (failover 2.1). */
export class LaunchIntake {
  readonly #options: LaunchIntakeOptions;

  constructor(options: LaunchIntakeOptions) {
    this.#options = options;
  }

  /** Records a launch once, however often it is sent. Rejects with LogUnavailable or LogBusy. */
  async take(body: LaunchBody, name: MessageName, subject: string): Promise<TakenLaunch> {
    const repeated = await this.#earlier(body, name);
    if (repeated !== null) return repeated;

    const { streams, placements, log, sealer } = this.#options;
    const place = await streams.find(body.logical_allocation);
    for (let races = 0; races < LOST_RACES_MAX; races += 1) {
      const state = await placements.get(place.stream);
      const sealing = await sealer.seal(place.stream, this.#textsOf(body, place));
      const command = this.#command({ body, name, subject, place }, state, sealing);
      // What is in progress may be this very launch, sent twice at once.
      if (command === null) return (await this.#earlier(body, name)) ?? IN_PROGRESS;

      const [result] = await log.append([command]);
      switch (result?.outcome) {
        case 'appended':
          sealer.stored(place.stream, sealing);
          return this.#taken(command.commandId, result.firstPos);
        case 'duplicate':
          return this.#taken(command.commandId, result.firstPos);
        case 'id_conflict':
          return { kind: 'refused', why: 'id_reused' };
        default:
        // Of two launches at once one is taken; whoever lost decides again on what was recorded.
      }
    }
    throw new LogBusy('every launch met a newer decision');
  }

  #taken(commandId: string, position: number): TakenLaunch {
    return { kind: 'taken', launchEventId: eventIdOf(commandId, 0), position };
  }

  /** Null = it is not taken on this state. */
  #command(launch: ToLaunch, state: Placement, sealing: Sealing): Command | null {
    const { ring, clock, lanes, limits } = this.#options;
    const { body, name, subject, place } = launch;
    const commandId = messageCommandId('launch', name, ring.newest);
    const bodyDigest = launchBodyDigest(body, ring.newest);
    const workload = workloadOf(body);
    const resolved = {
      plan: resolvePlan(body, lanes, limits),
      requestDigest: requestDigestOf(body, place),
      workloadDigest: workload === null ? null : workloadDigest(workload, place.key),
    };
    const launchEventId = eventIdOf(commandId, 0);
    const decided = decideLaunch(state, { launch: launchEventId, ...resolved });
    if (decided.kind === 'refused') return null;

    const requested: DataOfType<'LaunchRequested'> = {
      ringKeyId: place.key.id,
      messageIdDigest: messageIdDigest(name, ring.newest),
      bodyDigest,
      requestedBy: actorOf(subject, place.key),
      ...resolved,
    };
    const at = clock.now();
    const next = evolvePlacement(state, {
      type: 'LaunchAccepted',
      data: decided.accepted,
      eventId: eventIdOf(commandId, 1),
      at,
    });
    return {
      commandId,
      digest: commandDigest('launch', bodyDigest),
      stream: place.stream,
      expected: { decisionVersion: state.version },
      occurredAt: at,
      events: [
        { event: LaunchRequested.create(requested), meta: { causedBy: null, saw: null } },
        {
          event: LaunchAccepted.create(decided.accepted),
          meta: { causedBy: launchEventId, saw: state.version },
        },
      ],
      ringKeyId: place.key.id,
      placement: placementRowOf(next),
      ...sealing,
    };
  }

  #textsOf(body: LaunchBody, { ref, key }: FoundStream): readonly ToSeal[] {
    const texts: ToSeal[] = [{ kind: 'name', digest: ref, text: body.logical_allocation, expiresAt: null }];
    const workload = workloadOf(body);
    if (workload !== null) {
      const text = canonicalJson(workload);
      texts.push({ kind: 'launch', digest: workloadDigest(workload, key), text, expiresAt: null });
    }
    if (body.request !== undefined) {
      const invariants = invariantsOf(body.request);
      const text = canonicalJson(invariants);
      texts.push({
        kind: 'invariants',
        digest: digest(key.digests, 'request', invariants),
        text,
        expiresAt: null,
      });
    }
    return texts;
  }

  /** What the same id brought first, under whichever key of the ring it was taken then. */
  async #earlier(body: LaunchBody, name: MessageName): Promise<TakenLaunch | null> {
    if (name.kind === 'random') return null;
    for (const key of this.#options.ring.newestFirst) {
      const row = await this.#options.log.byEventId(eventIdOf(messageCommandId('launch', name, key), 0));
      if (row === null) continue;
      const { bodyDigest } = LaunchRequested.data.parse(JSON.parse(row.body));
      return bodyDigest === launchBodyDigest(body, key)
        ? { kind: 'taken', launchEventId: row.eventId, position: row.pos }
        : { kind: 'refused', why: 'id_reused' };
    }
    return null;
  }
}

/** The same digest as an attempt's: a pool move by consent is for the identical allocation only (failover 5.8). */
function requestDigestOf({ request }: LaunchBody, { key }: FoundStream): string | null {
  return request === undefined ? null : digest(key.digests, 'request', invariantsOf(request));
}
