import { isDeepStrictEqual } from 'node:util';
import type { SentAttempt } from './bodies.ts';
import type { AttemptAnswer, Calls, ConsentAnswer, Refusal, Reply } from './calls.ts';
import {
  attemptAnswerLines,
  type Colours,
  chapterLines,
  claimLine,
  consentAnswerLines,
  refusalLines,
  sentAttemptLine,
  sentConsentLine,
} from './lines.ts';

export interface StageOptions {
  readonly calls: Pick<Calls, 'attempt' | 'consent'>;
  readonly colours: Colours;
  readonly say: (line: string) => void;
  /** Time to read what was just shown; returns at once when nobody watches. */
  readonly pause: () => Promise<void>;
}

/** The story cannot go on: an answer is missing that the next step needs. */
export class StoryBroken extends Error {
  override readonly name = 'StoryBroken';
}

/** Where the story is played: each call is shown with its answer, each claim is checked and counted. */
export class Stage {
  readonly #options: StageOptions;
  #chapters = 0;
  #held = 0;
  #broken = 0;

  constructor(options: StageOptions) {
    this.#options = options;
  }

  get claims(): { readonly held: number; readonly broken: number } {
    return { held: this.#held, broken: this.#broken };
  }

  chapter(title: string, about: string): void {
    this.#chapters += 1;
    this.show(chapterLines(this.#chapters, title, about, this.#options.colours));
  }

  /** Reports an attempt. Throws StoryBroken when it is refused. */
  async attempt(sent: SentAttempt, as: string): Promise<AttemptAnswer> {
    const { calls, colours, pause } = this.#options;
    this.show(['', sentAttemptLine(sent, as, colours)]);
    const reply = await calls.attempt(sent);
    if (reply.kind === 'refused') throw this.#refused(reply.body);
    this.show(attemptAnswerLines(reply.body, colours));
    await pause();
    return reply.body;
  }

  /** Answers the open question of an allocation, and may be refused. */
  async consent(name: string, accept: boolean, token?: string): Promise<Reply<ConsentAnswer>> {
    const { calls, colours, pause } = this.#options;
    this.show(['', sentConsentLine(accept, token, colours)]);
    const reply = await calls.consent({ logical_allocation: name, accept, confirm_token: token });
    this.show(
      reply.kind === 'answered' ? consentAnswerLines(reply.body, colours) : refusalLines(reply.body, colours),
    );
    await pause();
    return reply;
  }

  /** Says what was claimed and whether it is so. */
  claim(claim: string, seen: unknown, expected: unknown): void {
    const held = isDeepStrictEqual(seen, expected);
    if (held) this.#held += 1;
    else this.#broken += 1;
    this.show([claimLine(claim, held, JSON.stringify(seen) ?? 'nothing', this.#options.colours)]);
  }

  /** Time to read what was just shown. */
  pause(): Promise<void> {
    return this.#options.pause();
  }

  get colours(): Colours {
    return this.#options.colours;
  }

  #refused(problem: Refusal): StoryBroken {
    this.show(refusalLines(problem, this.#options.colours));
    return new StoryBroken(`an attempt was refused with ${problem.status} (${problem.type})`);
  }

  /** Shows lines as they are. */
  show(lines: readonly string[]): void {
    for (const line of lines) this.#options.say(line);
  }
}
