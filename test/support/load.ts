import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';

/** One attempt to send. The id is also in the body, so that a repeat is a repeat whatever happens. */
export interface AttemptToSend {
  readonly attemptId: string;
  readonly allocation: string;
  /** The body without `attempt_id` and `logical_allocation`. */
  readonly rest: Readonly<Record<string, unknown>>;
}

export interface LoadOptions {
  /** Origins of one or more processes. Attempts take turns; a retry goes to the next one. */
  readonly baseUrls: readonly string[];
  readonly ratePerSecond: number;
  readonly seconds: number;
  /** The `index`-th attempt, from 0. */
  readonly attemptOf: (index: number) => AttemptToSend;
  /** How often one attempt is sent before it counts as unanswered. */
  readonly tries?: number;
  readonly pauseBetweenTriesMs?: number;
  readonly callDeadlineMs?: number;
  /** How long a 202 is followed before the attempt is sent again. */
  readonly followDeadlineMs?: number;
}

/** An attempt that was answered with its decision. */
export interface AnsweredAttempt {
  readonly attemptId: string;
  readonly allocation: string;
  readonly eventId: string;
  readonly status: number;
  /** From the first send to the answer. */
  readonly latencyMs: number;
  readonly tries: number;
  readonly prompted: boolean;
  readonly qualifyingAttempts: number;
  /** Every event id that any answer to this attempt named: more than one means that it was recorded twice. */
  readonly eventIds: readonly string[];
}

/** An attempt whose fate the caller does not know, or that was refused (400, 409, ...). */
export interface UnansweredAttempt {
  readonly attemptId: string;
  readonly allocation: string;
  readonly tries: number;
  /** `refused 409`, or the last failure. */
  readonly why: string;
  /** Named by a 202 before the trail was lost: these must be in the log nevertheless. */
  readonly eventIds: readonly string[];
}

export interface LoadReport {
  readonly sent: number;
  readonly answered: readonly AnsweredAttempt[];
  readonly unanswered: readonly UnansweredAttempt[];
}

/** Load under way. */
export interface Load {
  readonly report: Promise<LoadReport>;
  /** Attempts answered so far: to kill something in the middle. */
  answered(): number;
  /** Begins no further attempt; those under way are brought to their end. */
  stop(): void;
}

type Bounds = Required<
  Pick<LoadOptions, 'tries' | 'pauseBetweenTriesMs' | 'callDeadlineMs' | 'followDeadlineMs'>
>;

const DEFAULTS: Bounds = {
  tries: 60,
  pauseBetweenTriesMs: 250,
  callDeadlineMs: 15_000,
  followDeadlineMs: 15_000,
};
const FOLLOW_INTERVAL_MS = 50;
const TICK_MS = 5;

/**
 * Sends attempts at a fixed rate, however slowly they are answered, and brings each to its answer: on a
 * connection error, a time-out, 429 or 503 the same attempt id is sent again; a 202 is followed. `report`
 * never rejects.
 */
export function startLoad(options: LoadOptions): Load {
  const total = Math.round(options.ratePerSecond * options.seconds);
  const outcomes: Promise<Outcome>[] = [];
  let answered = 0;
  let stopped = false;

  const report = (async () => {
    const startMs = performance.now();
    while (outcomes.length < total && !stopped) {
      const due = Math.min(total, Math.ceil(((performance.now() - startMs) / 1_000) * options.ratePerSecond));
      while (outcomes.length < due && !stopped) {
        const index = outcomes.length;
        const outcome = new Sending({ ...DEFAULTS, ...options }, options.attemptOf(index), index).run();
        outcomes.push(outcome);
        void outcome.then((ended) => {
          if (ended.answered !== null) answered++;
        });
      }
      await pause(TICK_MS);
    }
    const ended = await Promise.all(outcomes);
    return {
      sent: ended.length,
      answered: ended.flatMap((outcome) => outcome.answered ?? []),
      unanswered: ended.flatMap((outcome) => outcome.unanswered ?? []),
    };
  })();
  return {
    report,
    answered: () => answered,
    stop: () => {
      stopped = true;
    },
  };
}

type Outcome =
  | { readonly answered: AnsweredAttempt; readonly unanswered: null }
  | { readonly answered: null; readonly unanswered: UnansweredAttempt };

const Accepted = z.object({ attempt_event_id: z.string(), location: z.string() });
const Decided = z.object({
  attempt_event_id: z.string(),
  decision: z.object({ prompt: z.boolean() }),
  allocation: z.object({ qualifying_attempts: z.number() }),
});

interface Reply {
  readonly status: number;
  readonly json: unknown;
}

/** One attempt on its way to its answer. */
class Sending {
  readonly #options: LoadOptions & Bounds;
  readonly #attempt: AttemptToSend;
  readonly #eventIds = new Set<string>();
  #origin: number;
  #tries = 0;
  #why = 'never sent';

  constructor(options: LoadOptions & Bounds, attempt: AttemptToSend, index: number) {
    this.#options = options;
    this.#attempt = attempt;
    this.#origin = index;
  }

  async run(): Promise<Outcome> {
    const startMs = performance.now();
    while (this.#tries < this.#options.tries) {
      this.#tries++;
      const reply = await this.#send();
      if (reply !== null && reply.status === 200) {
        const answered = this.#answered(reply, performance.now() - startMs);
        if (answered !== null) return { answered, unanswered: null };
      } else if (reply !== null && isRefusal(reply.status)) {
        this.#why = `refused ${reply.status}`;
        break;
      }
      this.#origin++;
      await pause(this.#options.pauseBetweenTriesMs);
    }
    const { attemptId, allocation } = this.#attempt;
    const unanswered = {
      attemptId,
      allocation,
      tries: this.#tries,
      why: this.#why,
      eventIds: [...this.#eventIds],
    };
    return { answered: null, unanswered };
  }

  #answered(reply: Reply, latencyMs: number): AnsweredAttempt | null {
    const decided = Decided.safeParse(reply.json);
    if (!decided.success) {
      this.#why = 'an answer without a decision';
      return null;
    }
    const { attempt_event_id: eventId, decision, allocation } = decided.data;
    this.#eventIds.add(eventId);
    return {
      attemptId: this.#attempt.attemptId,
      allocation: this.#attempt.allocation,
      eventId,
      status: reply.status,
      latencyMs,
      tries: this.#tries,
      prompted: decision.prompt,
      qualifyingAttempts: allocation.qualifying_attempts,
      eventIds: [...this.#eventIds],
    };
  }

  async #send(): Promise<Reply | null> {
    const { attemptId, allocation, rest } = this.#attempt;
    const reply = await this.#call('/api/agent/gpu-allocation/attempt', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...rest, logical_allocation: allocation, attempt_id: attemptId }),
    });
    return reply?.status === 202 ? this.#follow(reply) : reply;
  }

  async #follow(accepted: Reply): Promise<Reply | null> {
    const parsed = Accepted.safeParse(accepted.json);
    if (!parsed.success) {
      this.#why = 'a 202 without a location';
      return null;
    }
    this.#eventIds.add(parsed.data.attempt_event_id);
    const untilMs = performance.now() + this.#options.followDeadlineMs;
    while (performance.now() < untilMs) {
      await pause(FOLLOW_INTERVAL_MS);
      const reply = await this.#call(parsed.data.location, { method: 'GET' });
      // A process that is gone, or has not read so far yet: another one knows the location just as well.
      if (reply === null || reply.status === 503 || reply.status === 404) this.#origin++;
      else if (reply.status !== 202) return reply;
    }
    this.#why = 'undecided';
    return null;
  }

  async #call(path: string, init: RequestInit): Promise<Reply | null> {
    const { baseUrls, callDeadlineMs } = this.#options;
    const baseUrl = baseUrls[this.#origin % baseUrls.length];
    try {
      const response = await fetch(new URL(path, baseUrl), {
        ...init,
        signal: AbortSignal.timeout(callDeadlineMs),
      });
      const text = await response.text();
      this.#why = `status ${response.status}`;
      return { status: response.status, json: JSON.parse(text) };
    } catch (error) {
      this.#why = error instanceof Error ? `${error.name}: ${error.message}` : 'the call failed';
      return null;
    }
  }
}

/** 429 and 5xx say "later"; every other refusal stands. */
function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429;
}
