import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { z } from 'zod';
import { asyncApiDocument } from '#platform/asyncapi/document';
import { openApiDocument } from '#platform/openapi/document';

const DOCS_PATH = 'api/docs';

/** The library types OpenAPI 3.0; the description itself is checked against the schema of 3.1 by its spec. */
const Described = z.custom<OpenAPIObject>((value) => typeof value === 'object' && value !== null);

/**
 * Serves the descriptions of the interface: a page at `/api/docs`, the document at `/api/docs-json`, and that of the
 * bus at `/api/docs-asyncapi`.
 */
export function serveApiDocs(app: NestFastifyApplication): void {
  SwaggerModule.setup(DOCS_PATH, app, Described.parse(openApiDocument()), {
    jsonDocumentUrl: `${DOCS_PATH}-json`,
    raw: ['json'],
    customSiteTitle: 'Spillway: the interface',
    // Without this the page may send the document to a validator on another host.
    swaggerOptions: { validatorUrl: null, defaultModelsExpandDepth: 0, tryItOutEnabled: false },
  });
  const bus = asyncApiDocument();
  app
    .getHttpAdapter()
    .getInstance()
    .get(`/${DOCS_PATH}-asyncapi`, () => bus);
}
