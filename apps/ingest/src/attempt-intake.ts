import { actorOf } from '#domain/actor';
import type { ShownInvariants } from '#domain/attempt/answer';
import { assessAttempt, attemptBodyDigest } from '#domain/attempt/assess';
import type { AttemptBody } from '#domain/attempt/attempt-body';
import { type AttemptName, attemptCommandId } from '#domain/attempt/attempt-ids';
import { commandDigest } from '#domain/command-digest';
import { digest } from '#domain/digest';
import type { KeyRing, RingKey } from '#domain/key-ring';
import type { AppendPort, Command, LogReader } from '#domain/log';
import type { StreamFinder } from '#event-log/find-stream';
import { AttemptReported } from '#events/attempt.events';
import { canonicalJson } from '#events/canonical-json';
import { eventIdOf } from '#events/envelope';
import { plusSeconds } from '#events/instant';
import type { Clock } from '#platform/clock';
import { randomId } from '#platform/ids';
import type { Sealer, Sealing, ToSeal } from '#platform/sealer';

/** An attempt that is ready to be appended, or was appended before its id's key was rotated. */
export interface PreparedAttempt {
  readonly attemptEventId: string;
  readonly append: Command | null;
  readonly known: Exclude<TakenAttempt, 'recorded'> | null;
  readonly sealing: Sealing;
  /** What the attempt itself says; null when it was appended earlier. */
  readonly invariants: ShownInvariants | null;
}

/** `repeat`: the same id and body came before, nothing was recorded now. */
export type TakenAttempt = 'recorded' | 'repeat' | 'id_reused';

export interface AttemptIntakeOptions {
  readonly ring: KeyRing;
  readonly streams: StreamFinder;
  readonly log: AppendPort & LogReader;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly failureRetentionS: number;
}

/** Seals, digests and appends attempts: nothing in clear gets behind this line (fallback 7). */
export class AttemptIntake {
  readonly #options: AttemptIntakeOptions;

  constructor(options: AttemptIntakeOptions) {
    this.#options = options;
  }

  /** Seals and digests a body; nothing is recorded yet. Rejects with LogUnavailable. */
  async prepare(body: AttemptBody, name: AttemptName | null, subject: string): Promise<PreparedAttempt> {
    const { ring } = this.#options;
    const named = name ?? ({ kind: 'random', id: randomId() } as const);
    for (const older of named.kind === 'caller' ? ring.newestFirst.slice(1) : []) {
      const known = await this.#knownUnder(older, body, named);
      if (known !== null) return known;
    }
    return this.#command(body, named, ring.newest, subject);
  }

  /** Records an attempt once, however often it is sent. Rejects with LogUnavailable or LogBusy. */
  async take({ append, known, sealing }: PreparedAttempt): Promise<TakenAttempt> {
    if (append === null) return known ?? 'repeat';
    const [result] = await this.#options.log.append([append]);
    switch (result?.outcome) {
      case 'appended':
        this.#options.sealer.stored(append.stream, sealing);
        return 'recorded';
      case 'duplicate':
        return 'repeat';
      case 'id_conflict':
        return 'id_reused';
      default:
        throw new Error(`an attempt that expects nothing was answered ${result?.outcome ?? 'nothing'}`);
    }
  }

  async #command(
    body: AttemptBody,
    name: AttemptName,
    idKey: RingKey,
    subject: string,
  ): Promise<PreparedAttempt> {
    const { streams, sealer, clock, failureRetentionS } = this.#options;
    const { key, ref, stream } = await streams.find(body.logical_allocation);
    const assessed = assessAttempt(body, key);
    const now = clock.now();
    const bodyDigest = attemptBodyDigest(body, idKey);
    const texts: ToSeal[] = [
      { kind: 'name', digest: ref, text: body.logical_allocation, expiresAt: null },
      {
        kind: 'invariants',
        digest: assessed.requestDigest,
        text: canonicalJson(assessed.invariants),
        expiresAt: null,
      },
    ];
    if (assessed.failure !== null && assessed.failureDigest !== null) {
      texts.push({
        kind: 'failure',
        digest: assessed.failureDigest,
        text: canonicalJson(assessed.failure),
        expiresAt: plusSeconds(now, failureRetentionS),
      });
    }
    const sealing = await sealer.seal(stream, texts);
    const event = AttemptReported.create({
      ringKeyId: key.id,
      attemptIdDigest: name.kind === 'caller' ? digest(idKey.digests, 'attempt-id', name.id) : null,
      bodyDigest,
      reportedBy: actorOf(subject, key),
      success: assessed.success,
      pool: assessed.pool,
      requestDigest: assessed.requestDigest,
      evidenceDigest: assessed.evidenceDigest,
      actionDigest: assessed.actionDigest,
      proof: assessed.proof,
      compatible: assessed.compatible,
      blockers: [...assessed.blockers],
      failureDigest: assessed.failureDigest,
    });
    const command: Command = {
      commandId: attemptCommandId(name, idKey),
      digest: commandDigest('attempt', bodyDigest),
      stream,
      expected: 'any',
      occurredAt: now,
      events: [{ event, meta: { causedBy: null, saw: null } }],
      // Stored with the first texts of a stream; written again each time it would cost as much as the event.
      ...(sealing.sealed.length > 0 ? { ringKeyId: key.id } : {}),
      ...sealing,
    };
    return {
      attemptEventId: eventIdOf(command.commandId, 0),
      append: command,
      known: null,
      sealing,
      invariants: assessed.invariants,
    };
  }

  /** An id that was used before a key rotation: its command id was made with the older key. */
  async #knownUnder(older: RingKey, body: AttemptBody, name: AttemptName): Promise<PreparedAttempt | null> {
    const attemptEventId = eventIdOf(attemptCommandId(name, older), 0);
    const row = await this.#options.log.byEventId(attemptEventId);
    if (row === null) return null;
    const { bodyDigest } = AttemptReported.data.parse(JSON.parse(row.body));
    const known = bodyDigest === attemptBodyDigest(body, older) ? 'repeat' : 'id_reused';
    return { attemptEventId, append: null, known, sealing: { sealed: [] }, invariants: null };
  }
}
