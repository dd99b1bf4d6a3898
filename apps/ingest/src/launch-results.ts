import type { KeyRing } from '#domain/key-ring';
import { locationOf } from '#domain/location';
import type { LogReader } from '#domain/log';
import { shownInstance, shownWait, verdictAnswer } from '#domain/watch/verdict-answer';
import { loadAllocation } from '#event-log/load-allocation';
import { type PlacementStates, type PlacementView, viewAt } from '#event-log/placement-states';
import type { RecordedEvent } from '#events/envelope';
import type { CallResult } from './call-result.ts';
import type { FailoverQuestions } from './failover-questions.ts';

export interface LaunchResultsOptions {
  readonly placements: PlacementStates;
  readonly questions: FailoverQuestions;
  readonly log: LogReader;
  readonly ring: KeyRing;
}

const PAGE_ROWS = 500;

/** What became of a launch: its latest decision, with the instance, the open question and what it waits for (failover 2.1). */
export class LaunchResults {
  readonly #options: LaunchResultsOptions;

  constructor(options: LaunchResultsOptions) {
    this.#options = options;
  }

  /** Undecided until there is a decision. Rejects with LogUnavailable or LogBusy. */
  async result(launch: RecordedEvent): Promise<CallResult> {
    const now = await this.#options.placements.view(launch.stream);
    const isNewest = now.placement.launch?.id === launch.eventId;
    const waits = isNewest ? shownWait(now.placement) : {};
    const { placement, verdictPos } = isNewest ? now : await this.#whenReplaced(launch);
    if (placement.verdict === null || verdictPos === null) {
      const location = locationOf(launch.eventId, this.#options.ring);
      return { kind: 'undecided', location, body: { position: launch.pos, location, ...waits } };
    }
    const instance = shownInstance(placement);
    return {
      kind: 'answered',
      body: {
        ...verdictAnswer(placement.verdict, verdictPos),
        ...(instance === null ? {} : { instance }),
        ...waits,
        ...(isNewest ? await this.#openQuestion(launch.stream) : {}),
      },
    };
  }

  /** How things stood just before the next launch of the same allocation was taken. */
  async #whenReplaced(launch: RecordedEvent): Promise<PlacementView> {
    const { log } = this.#options;
    for (let version = launch.streamVersion; ; ) {
      const rows = await log.readStream(launch.stream, version, PAGE_ROWS);
      const next = rows.find((row) => row.type === 'LaunchAccepted' && row.commandId !== launch.commandId);
      if (next !== undefined) return viewAt(log, launch.stream, next.streamVersion - 1);
      const last = rows.at(-1);
      if (last === undefined) return viewAt(log, launch.stream, version);
      version = last.streamVersion;
    }
  }

  async #openQuestion(stream: string) {
    const record = await loadAllocation(this.#options.log, stream);
    const open = record?.scalars.openQuestion ?? null;
    return open?.kind === 'failover' ? this.#options.questions.asked(open.originId) : {};
  }
}
