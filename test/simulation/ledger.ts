/** What really happened at a provider, whoever knows of it. */
export interface Happening {
  readonly atMs: number;
  readonly lane: string;
  readonly what:
    | 'create_called'
    | 'created'
    | 'started'
    | 'start_repeated'
    | 'terminate_called'
    | 'terminated'
    | 'bootstrap_called'
    | 'vanished';
  readonly instance: string | null;
  readonly intent: string | null;
}

/** The only judge of what was bought, started and ended: written by the simulated lanes, read by nobody's rules. */
export class Ledger {
  readonly #happenings: Happening[] = [];
  readonly #listeners: ((happening: Happening) => void)[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  write(
    lane: string,
    what: Happening['what'],
    instance: string | null = null,
    intent: string | null = null,
  ): void {
    const happening = { atMs: this.#now(), lane, what, instance, intent };
    this.#happenings.push(happening);
    for (const listener of this.#listeners) listener(happening);
  }

  /** Told of everything that happens, before its effect where it is a call. */
  listen(listener: (happening: Happening) => void): void {
    this.#listeners.push(listener);
  }

  get all(): readonly Happening[] {
    return this.#happenings;
  }

  of(lane: string, what: Happening['what']): readonly Happening[] {
    return this.#happenings.filter((one) => one.lane === lane && one.what === what);
  }

  /** Distinct instances to which it happened, in order. */
  instances(lane: string, what: Happening['what']): readonly string[] {
    return [...new Set(this.of(lane, what).flatMap(({ instance }) => instance ?? []))];
  }
}
