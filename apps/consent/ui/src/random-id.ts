const BYTES = 16;

/** An id that nobody else makes. (`randomUUID` is there on secure origins only.) */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
