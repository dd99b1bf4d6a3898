import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { base32 } from '#events/envelope';
import { type Case, type Step, withRunId } from './fallback-cases.ts';
import { type Answer, at, mismatchesOf, totalMismatches } from './fallback-expect.ts';
import { SentSecrets } from './sent-secrets.ts';

export interface RunOptions {
  /** Origin of a running Spillway, such as http://127.0.0.1:8787. */
  readonly baseUrl: string;
  /** Put into every name; random unless given. */
  readonly runId?: string;
  /** Cases at a time. */
  readonly concurrency?: number;
  /** For one call, and again for following a 202 to its decision. */
  readonly callDeadlineMs?: number;
  /**
   * Lockstep: step k of all cases, then this (k counts from 0), then step k+1. The service may be restarted in
   * it; it must be ready again when the promise settles. Without it each case runs through on its own.
   */
  readonly betweenSteps?: (step: number) => Promise<void>;
}

/** Where a case went wrong; a case stops there, since its later steps build on it. */
export interface Mismatch {
  /** Place of the step, from 0. */
  readonly step: number;
  readonly message: string;
}

export interface CaseResult {
  readonly id: string;
  readonly group: string;
  readonly description: string;
  readonly passed: boolean;
  readonly mismatches: readonly Mismatch[];
}

export interface RunReport {
  readonly runId: string;
  /** In the order of the cases given. */
  readonly results: readonly CaseResult[];
  /** Calls that were answered 202 first and whose `location` was followed. */
  readonly followed: number;
  /** Names, messages, images, fingerprints, ids and tokens of this run, for the redaction search. */
  readonly sentSecrets: readonly string[];
}

const DEFAULT_CONCURRENCY = 8;
const DEFAULT_CALL_DEADLINE_MS = 15_000;
const FOLLOW_INTERVAL_MS = 50;
const RUN_ID_CHARACTERS = 8;

const ROUTES = {
  attempt: { method: 'POST', path: '/api/agent/gpu-allocation/attempt' },
  consent: { method: 'POST', path: '/api/agent/gpu-allocation/consent' },
  health: { method: 'GET', path: '/api/health' },
} as const;

/** Runs cases over HTTP. Rejects only when `betweenSteps` does: whatever the service does is a result. */
export async function runFallbackCases(cases: readonly Case[], options: RunOptions): Promise<RunReport> {
  const runId = options.runId ?? base32(randomBytes(RUN_ID_CHARACTERS), RUN_ID_CHARACTERS);
  const secrets = new SentSecrets();
  const caller = new Caller(options, secrets);
  const runs = cases.map((original) => new CaseRun(withRunId(original, runId), caller));
  const concurrency = options.concurrency ?? DEFAULT_CONCURRENCY;

  if (options.betweenSteps === undefined) {
    await eachAtMost(concurrency, runs, async (run) => {
      while (run.isOpen) await run.step();
    });
  } else {
    for (let step = 0; runs.some((run) => run.isOpen); step++) {
      if (step > 0) await options.betweenSteps(step - 1);
      await eachAtMost(
        concurrency,
        runs.filter((run) => run.isOpen),
        (run) => run.step(),
      );
    }
  }
  return {
    runId,
    results: runs.map((run) => run.result()),
    followed: caller.followed,
    sentSecrets: secrets.all(),
  };
}

/** One case under way: what it has seen so far, and its next step. */
class CaseRun {
  readonly #case: Case;
  readonly #caller: Caller;
  readonly #tokens = new Map<string, string>();
  readonly #saved = new Map<string, unknown>();
  readonly #mismatches: Mismatch[] = [];
  #latestToken: string | null = null;
  #next = 0;

  constructor(runCase: Case, caller: Caller) {
    this.#case = runCase;
    this.#caller = caller;
  }

  get isOpen(): boolean {
    return this.#next < this.#case.steps.length && this.#mismatches.length === 0;
  }

  async step(): Promise<void> {
    const step = this.#case.steps[this.#next];
    if (step === undefined) return;
    const messages = await this.#run(step).catch((error: unknown) => [describeFailure(error)]);
    this.#mismatches.push(...messages.map((message) => ({ step: this.#next, message })));
    this.#next++;
  }

  result(): CaseResult {
    const { id, group, description } = this.#case;
    return { id, group, description, passed: this.#mismatches.length === 0, mismatches: this.#mismatches };
  }

  async #run(step: Step): Promise<readonly string[]> {
    const body = step.raw ?? (step.call === 'health' ? undefined : JSON.stringify(this.#filledIn(step.body)));
    const answers = await this.#send(step, body);
    for (const answer of answers) this.#keepToken(step, answer);

    const last = answers.at(-1);
    if (last === undefined) return ['nothing was sent'];
    const save = Object.entries({ ...step.save, ...step.expect.save });
    for (const [path, name] of save) this.#saved.set(name, at(last.json, path));

    const expected = { ...step.expect, allocation: this.#filledInRecord(step.expect.allocation) };
    const judged = step.parallel === undefined ? [last] : answers;
    return [
      ...new Set(judged.flatMap((answer) => mismatchesOf(expected, answer))),
      ...totalMismatches(step.expect, answers),
      ...save
        .filter(([path]) => at(last.json, path) === undefined)
        .map(([path]) => `${path} is absent, cannot be saved`),
    ];
  }

  async #send(step: Step, body: string | undefined): Promise<readonly Answer[]> {
    const answers: Answer[] = [];
    for (let sent = 0; sent < (step.repeat ?? 1); sent++) {
      const atOnce = Array.from({ length: step.parallel ?? 1 }, () => this.#caller.call(step, body));
      answers.push(...(await Promise.all(atOnce)));
    }
    return answers;
  }

  #keepToken(step: Step, answer: Answer): void {
    const token = at(answer.json, 'confirm_token');
    if (typeof token !== 'string') return;
    this.#latestToken = token;
    if (step.as !== undefined) this.#tokens.set(step.as, token);
  }

  #filledInRecord(members: Readonly<Record<string, unknown>> | undefined): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(members ?? {}).map(([key, value]) => [key, this.#filledIn(value)]),
    );
  }

  /** Placeholders in texts at any depth. A text that is one placeholder becomes the value itself, of any type. */
  #filledIn(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#filledIn(item));
    if (typeof value === 'object' && value !== null) return this.#filledInRecord({ ...value });
    if (typeof value !== 'string') return value;
    if (WHOLE_PLACEHOLDER.test(value)) return this.#lookUp(value);
    return value.replace(PLACEHOLDER, (placeholder) => String(this.#lookUp(placeholder)));
  }

  #lookUp(placeholder: string): unknown {
    const [kind = '', name] = placeholder.slice(1).split('.');
    const found =
      kind === 'saved'
        ? this.#saved.get(name ?? '')
        : name === undefined
          ? this.#latestToken
          : this.#tokens.get(name);
    if (found === undefined || found === null) throw new PlaceholderError(placeholder);
    return found;
  }
}

const PLACEHOLDER = /\$token(?:\.[\w-]+)?|\$saved\.[\w-]+/g;
const WHOLE_PLACEHOLDER = /^(?:\$token(?:\.[\w-]+)?|\$saved\.[\w-]+)$/;

class PlaceholderError extends Error {
  override readonly name = 'PlaceholderError';

  constructor(placeholder: string) {
    super(`${placeholder} was never received`);
  }
}

/** Sends calls, follows a 202 to its decision, and remembers what must stay secret. */
class Caller {
  readonly #baseUrl: string;
  readonly #deadlineMs: number;
  readonly #secrets: SentSecrets;
  followed = 0;

  constructor(options: RunOptions, secrets: SentSecrets) {
    this.#baseUrl = options.baseUrl.replace(/\/$/, '');
    this.#deadlineMs = options.callDeadlineMs ?? DEFAULT_CALL_DEADLINE_MS;
    this.#secrets = secrets;
  }

  async call(step: Step, body: string | undefined): Promise<Answer> {
    const { method, path } = ROUTES[step.call];
    this.#secrets.sent(parsed(body ?? ''));
    const answer = await this.#fetch(`${this.#baseUrl}${path}`, {
      method,
      ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
    });
    const wants202 = step.expect.status === 202 || step.expect.status_any_of?.includes(202) === true;
    const decided = answer.status === 202 && !wants202 ? await this.#follow(answer) : answer;
    this.#secrets.received(decided.json);
    return decided;
  }

  /** fallback 1.1: a 202 has lost nothing; its location gives exactly the answer. */
  async #follow(accepted: Answer): Promise<Answer> {
    const location = at(accepted.json, 'location');
    if (typeof location !== 'string') return accepted;
    this.followed++;
    const url = new URL(location, this.#baseUrl);
    const until = performance.now() + this.#deadlineMs;
    let answer = accepted;
    while (answer.status === 202 && performance.now() < until) {
      await pause(FOLLOW_INTERVAL_MS);
      answer = await this.#fetch(url, { method: 'GET' });
    }
    return answer;
  }

  async #fetch(url: string | URL, init: RequestInit): Promise<Answer> {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(this.#deadlineMs) });
    const text = await response.text();
    return { status: response.status, text, json: parsed(text) };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'the call failed';
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `${error.message}${cause}`;
}

async function eachAtMost<Item>(
  limit: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}
