import type { VirtualClock } from './virtual-clock.ts';

/** Somebody whose calls are interleaved with those of others: a worker, or whoever records inputs. */
export interface Actor {
  readonly name: string;
  /** The place it works at: whoever comes after it has the same one. */
  readonly slot: number;
  /** Nothing of the dead runs: what they call never returns. */
  isDead: boolean;
}

/** How long a call takes on its way to the port and back. Effects happen in between. */
export interface Delays {
  readonly beforeMs: number;
  readonly afterMs: number;
}

export interface SchedulerOptions {
  readonly clock: VirtualClock;
  /** Which of the calls that can go on does: an index. It sees who calls what. */
  readonly choose: (ready: readonly Waiting[]) => number;
  readonly delays?: (actor: Actor, label: string) => Delays;
  /** Told of each call as it takes effect. */
  readonly onCall?: (actor: Actor, label: string) => void;
}

export interface Waiting {
  readonly actor: Actor;
  readonly label: string;
}

interface Pending extends Waiting {
  readonly readyMs: number;
  /** A request that is under way takes effect even when its sender has died. */
  readonly outlivesActor: boolean;
  readonly goOn: () => void;
}

const AT_ONCE: Delays = { beforeMs: 0, afterMs: 0 };

/** More steps than any real schedule needs: a loop that never ends is a fault, not a slow test. */
const STEPS_MAX = 200_000;

/** A schedule that never comes to an end. */
export class EndlessSchedule extends Error {
  override readonly name = 'EndlessSchedule';
}

/**
 * Decides at every call of every actor who goes on, and moves the clock when everybody waits. Between two calls
 * an actor runs alone, so that a schedule is its list of choices and can be repeated.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  #pending: Pending[] = [];
  #steps = 0;
  #failure: { readonly error: unknown } | null = null;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Starts something that an actor does. An error of it ends the run. */
  spawn(task: () => Promise<void>): void {
    task().catch((error: unknown) => {
      this.#failure ??= { error };
    });
  }

  /** One call of a port: it waits for its turn, takes effect, and its answer waits for its turn again. */
  async call<Value>(
    actor: Actor,
    label: string,
    run: () => Promise<Value>,
    outlivesActor = false,
  ): Promise<Value> {
    const { beforeMs, afterMs } = this.#options.delays?.(actor, label) ?? AT_ONCE;
    await this.#turn(actor, label, beforeMs, outlivesActor);
    this.#options.onCall?.(actor, label);
    const [answer] = await Promise.allSettled([run()]);
    if (afterMs > 0) await this.#turn(actor, `${label} answered`, afterMs, false);
    if (actor.isDead) return never();
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  }

  /** Waiting: the only thing that takes time of itself. */
  async sleep(actor: Actor, ms: number): Promise<void> {
    await this.#turn(actor, `waits ${ms / 1000} s`, ms, false);
  }

  /** Runs until nobody can go on any more, or up to a moment; the clock then stands there. */
  async run(untilMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      await drained();
      if (this.#failure !== null) throw this.#failure.error;
      this.#pending = this.#pending.filter(({ actor, outlivesActor }) => !actor.isDead || outlivesActor);
      const nextMs = Math.min(...this.#pending.map(({ readyMs }) => readyMs));
      if (nextMs > untilMs || this.#pending.length === 0) break;
      clock.moveTo(nextMs);
      this.#goOn();
    }
    if (Number.isFinite(untilMs)) clock.moveTo(untilMs);
  }

  #goOn(): void {
    const now = this.#options.clock.storeMs();
    const ready = this.#pending.filter(({ readyMs }) => readyMs <= now);
    const chosen = ready[ready.length === 1 ? 0 : this.#options.choose(ready)];
    if (chosen === undefined) throw new Error('the chosen call is not one of those that can go on');
    this.#steps += 1;
    if (this.#steps > STEPS_MAX) throw new EndlessSchedule(`over ${STEPS_MAX} steps, last: ${chosen.label}`);
    this.#pending = this.#pending.filter((one) => one !== chosen);
    chosen.goOn();
  }

  #turn(actor: Actor, label: string, afterMs: number, outlivesActor: boolean): Promise<void> {
    if (actor.isDead && !outlivesActor) return never();
    const readyMs = this.#options.clock.storeMs() + afterMs;
    return new Promise((goOn) => {
      this.#pending.push({ actor, label, readyMs, outlivesActor, goOn });
    });
  }
}

/** The dead wait for ever: no handler of theirs, not even a last one, runs again. */
export function never<Value>(): Promise<Value> {
  return new Promise(() => {});
}

/** After everything that is only waiting for what has happened already has run. */
function drained(): Promise<void> {
  return new Promise((done) => {
    setImmediate(done);
  });
}

/** The first place goes on for as long as it can; then the next. */
export function oneAfterTheOther(slots: readonly number[]) {
  return (ready: readonly Waiting[]): number => {
    const rank = ({ actor }: Waiting) => {
      const at = slots.indexOf(actor.slot);
      return at < 0 ? slots.length : at;
    };
    const best = Math.min(...ready.map(rank));
    return ready.findIndex((one) => rank(one) === best);
  };
}

/** One place makes so many calls while others could, then the others go on as far as they can, then the rest. */
export function interruptedAfter(slot: number, calls: number) {
  let made = 0;
  const choose = (ready: readonly Waiting[]): number => {
    const isItsTurn = made < calls;
    const at = Math.max(
      ready.findIndex(({ actor }) => (actor.slot === slot) === isItsTurn),
      0,
    );
    if (ready[at]?.actor.slot === slot) made += 1;
    return at;
  };
  /** How many calls it made while others could have gone on. */
  return { choose, made: () => made };
}
