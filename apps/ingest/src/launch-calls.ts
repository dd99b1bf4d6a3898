import type { KeyRing } from '#domain/key-ring';
import { locationOf } from '#domain/location';
import { type MessageName, shownMessageId } from '#domain/message-ids';
import type { LaneDirectory } from '#domain/provision/lane-directory';
import { launchBody, MessageId } from '#domain/provision/launch-body';
import { randomId } from '#platform/ids';
import { parseBody, problem } from '#platform/problem';
import { type CallResult, type OnCall, told } from './call-result.ts';
import type { LaunchIntake } from './launch-intake.ts';
import { sentId } from './sent-id.ts';

export interface LaunchCallsOptions {
  readonly intake: LaunchIntake;
  readonly lanes: LaneDirectory;
  readonly ring: KeyRing;
  readonly onCall: OnCall;
}

/** A launch or an observation as it came, by HTTP or by the bus. */
export interface MessageSent {
  readonly body: unknown;
  /** The id beside the body (header). */
  readonly sentId: string | null;
  /** Names the message when neither the body nor the header does: its place in the queue. */
  readonly messageName: MessageName | null;
  readonly subject: string;
}

/** One launch from its body to its answer, the same by HTTP and by the bus (failover 2.1). */
export class LaunchCalls {
  readonly #options: LaunchCallsOptions;
  readonly #form: ReturnType<typeof launchBody>;

  constructor(options: LaunchCallsOptions) {
    this.#options = options;
    this.#form = launchBody({ lanes: options.lanes });
  }

  /** Takes a body as it was sent; provisioning is not waited for. Rejects with LogUnavailable or LogBusy. */
  launch(sent: MessageSent): Promise<CallResult> {
    return told(this.#options.onCall, () => this.#launch(sent));
  }

  async #launch(sent: MessageSent): Promise<CallResult> {
    const parsed = parseBody(this.#form, sent.body);
    const inBody = parsed.ok ? parsed.value.message_id : undefined;
    const id = sentId({ inBody, beside: sent.sentId, form: MessageId, pointer: '/message_id' });
    if (!parsed.ok) return { kind: 'refused', problem: parsed.problem };
    if (id.kind === 'refused') return id;

    const name = id.name ?? sent.messageName ?? ({ kind: 'random', id: randomId() } as const);
    const taken = await this.#options.intake.take(parsed.value, name, sent.subject);
    if (taken.kind === 'refused') return { kind: 'refused', problem: problem(taken.why) };

    const location = locationOf(taken.launchEventId, this.#options.ring);
    const body = {
      logical_allocation: parsed.value.logical_allocation,
      message_id: shownMessageId(name),
      position: taken.position,
      location,
    };
    return { kind: 'undecided', body, location };
  }
}
