import { asyncApiDocument } from '#platform/asyncapi/document';

/** Where the generated description of the bus is kept, from the project's root. */
export const ASYNCAPI_FILE = 'docs/asyncapi.json';

/** The description as the file holds it. */
export function asyncApiText(): string {
  return `${JSON.stringify(asyncApiDocument(), null, 2)}\n`;
}
