/** The value of a JSON text; null for a text that is no JSON, as for the text `null`: a schema refuses both. */
export function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
