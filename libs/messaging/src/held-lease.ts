import type { Leases } from '#domain/log-tables';

/**
 * A lease that this process tries to hold for as long as it runs, for economy: what must happen once does not
 * depend on it (design 6). `held` is false from the moment it may have run out.
 */
export class HeldLease {
  #fence: number | null = null;
  #heldUntilMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #trying: Promise<void> | null = null;

  constructor(
    private readonly leases: Leases,
    private readonly name: string,
    private readonly holder: string,
    private readonly forMs: number,
    /** False while this process could do nothing with it: then another one gets it. */
    private readonly isWanted: () => boolean = () => true,
  ) {}

  get held(): boolean {
    return this.#fence !== null && performance.now() < this.#heldUntilMs;
  }

  start(): void {
    this.#try();
    this.#timer = setInterval(() => this.#try(), this.forMs / 3);
  }

  /** Looks at once instead of at the next third of the lease: there is news of whether it is wanted. */
  now(): void {
    this.#try();
  }

  /** Frees it at once for another process. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#trying;
    if (this.#fence !== null) await this.leases.release(this.name, this.#fence).catch(() => false);
    this.#fence = null;
  }

  /** One try at a time: while the log does not answer they would pile up, and stopping wait for each. */
  #try(): void {
    this.#trying ??= this.#tryOnce().finally(() => {
      this.#trying = null;
    });
  }

  async #tryOnce(): Promise<void> {
    const startedMs = performance.now();
    try {
      if (!this.isWanted()) {
        const fence = this.#fence;
        this.#fence = null;
        if (fence !== null) await this.leases.release(this.name, fence);
        return;
      }
      if (this.#fence === null) {
        this.#fence = (await this.leases.take(this.name, this.holder, this.forMs))?.fence ?? null;
      } else if (!(await this.leases.renew(this.name, this.#fence, this.forMs))) {
        this.#fence = null;
      }
      if (this.#fence !== null) this.#heldUntilMs = startedMs + this.forMs;
    } catch {
      // The log cannot be reached: the lease counts as held until it may have run out, and no longer.
    }
  }
}
