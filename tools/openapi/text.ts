import { openApiDocument } from '#platform/openapi/document';

/** Where the generated description is kept, from the project's root. */
export const OPENAPI_FILE = 'docs/openapi.json';

/** The description as the file holds it. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument(), null, 2)}\n`;
}
