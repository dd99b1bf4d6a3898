import { createHash } from 'node:crypto';
import { base32 } from '#events/envelope';

/** Ids that look random and are the same in every run of one seed. */
export class SeededIds {
  readonly #seed: string;
  #made = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** 26 characters of lower-case base32. */
  readonly next = (): string => {
    this.#made += 1;
    return base32(createHash('sha256').update(`${this.#seed} ${this.#made}`).digest(), 26);
  };
}

/** A generator of whole numbers below a bound: xorshift, the same in every run of one seed. */
export class SeededNumbers {
  #state: number;

  constructor(seed: number) {
    const mixed = createHash('sha256').update(`seed ${seed}`).digest().readUInt32BE(0);
    this.#state = mixed === 0 ? 1 : mixed;
  }

  /** From 0 to `bound` - 1. */
  below(bound: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    this.#state >>>= 0;
    return this.#state % bound;
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<Value>(values: readonly Value[]): Value {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new Error('nothing to pick from');
    return value;
  }

  /** A value by weight. */
  weighted<Value>(rows: readonly (readonly [number, Value])[]): Value {
    let left = this.below(rows.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, value] of rows) {
      if (left < weight) return value;
      left -= weight;
    }
    throw new Error('nothing to pick from');
  }
}
