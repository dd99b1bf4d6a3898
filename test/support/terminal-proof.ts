import type { KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import { refOfStream } from '#events/streams';
import { readEvent } from '#events/upcast';

/** Every way into the terminal lane has one of these names (failover 4.3 to 4.7, 5.6). */
const TYPED_REASON =
  /^(?:auto_fallback_[\w-]+|[\w-]+_(?:queue_vanish|queue_timeout|infra_wedge|boot_loop)_failover_[\w-]+|[\w-]+_workload_failover_[\w-]+)$/;

/**
 * Nothing reaches the terminal lane but by a typed escalation (failover 4.8): each terminal intent, and each
 * create of one, stands behind a decided move that is still open, and the move behind `standing` or an acceptance
 * that names it. One sentence a fault; none = proven.
 */
export function terminalFaults(rows: readonly RecordedEvent[]): readonly string[] {
  const stories = new Map<string, TerminalStory>();
  return rows.flatMap((row) => {
    if (refOfStream(row.stream) === null) return [];
    const story = stories.get(row.stream) ?? new TerminalStory();
    stories.set(row.stream, story);
    return story.take(readEvent(row));
  });
}

/** What one allocation's log has allowed so far. */
class TerminalStory {
  readonly #accepted = new Set<string>();
  readonly #terminalIntents = new Set<string>();
  #failover: string | null = null;
  #moveIsOpen = false;

  take(event: KnownEvent): readonly string[] {
    const place = `${event.type} at ${event.row.pos}`;
    switch (event.type) {
      case 'LaunchAccepted':
        this.#failover = event.data.plan.terminal === null ? 'never' : event.data.plan.failover;
        this.#moveIsOpen = false;
        return [];
      case 'FailoverAccepted':
        this.#accepted.add(event.data.questionId);
        return [];
      case 'FailoverDecided': {
        const { consent, escalation } = event.data;
        this.#moveIsOpen = true;
        const rests = consent === 'standing' ? this.#failover === 'standing' : this.#accepted.has(consent);
        return [
          ...(rests ? [] : [`${place} rests on a consent that nobody gave`]),
          ...(TYPED_REASON.test(escalation.reason) ? [] : [`${place} has no typed reason`]),
        ];
      }
      case 'FailoverVoided':
      case 'FailoverCompleted':
      case 'AllocationBlocked':
      case 'AllocationDone':
        this.#moveIsOpen = false;
        return [];
      case 'IntentRecorded':
        if (event.data.entry.kind !== 'terminal') return [];
        this.#terminalIntents.add(event.data.intent);
        return this.#moveIsOpen ? [] : [`${place} is of the terminal lane, and no move is decided`];
      case 'CreateSending':
        if (!this.#terminalIntents.has(event.data.intent) || this.#moveIsOpen) return [];
        return [`${place} is of the terminal lane, and no move is decided any more`];
      default:
        return [];
    }
  }
}
