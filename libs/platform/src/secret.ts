import { inspect } from 'node:util';

const REDACTED = '[secret]';

/**
 * Holds a value that must not be printed by accident: a string, JSON or inspection of it shows `[secret]`.
 * The value is given out only by `reveal()`, which is easy to search for.
 */
export class Secret<Value> {
  readonly #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  /** The value itself. Call it where it is used, and pass the Secret on until then. */
  reveal(): Value {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
