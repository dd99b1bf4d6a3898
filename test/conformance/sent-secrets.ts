/** Members whose text must never stand in clear in the log, on the bus or in a log line (fallback 7). */
const SECRET_MEMBERS = new Set([
  'logical_allocation',
  'message',
  'image',
  'image_digest',
  'fingerprint',
  'confirm_token',
  'attempt_id',
]);

/** Collects what a run sent and received that must be found nowhere afterwards. */
export class SentSecrets {
  readonly #texts = new Set<string>();

  /** Looks into a request body at any depth. */
  sent(body: unknown): void {
    this.#collect(body);
  }

  /** Of an answer only the token is a secret: its other texts are our own. */
  received(answer: unknown): void {
    if (typeof answer !== 'object' || answer === null || !('confirm_token' in answer)) return;
    this.#collect({ confirm_token: answer.confirm_token });
  }

  /** All of them once, longest first. */
  all(): readonly string[] {
    return [...this.#texts].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  }

  #collect(value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    for (const [member, inner] of Object.entries(value)) {
      if (typeof inner !== 'string') this.#collect(inner);
      else if (SECRET_MEMBERS.has(member) && inner.trim() !== '') this.#texts.add(inner.trim());
    }
  }
}
