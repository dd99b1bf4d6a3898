import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../up/infra/environment.ts';
import { OPENAPI_FILE, openApiText } from './text.ts';

// `npm run openapi`: writes the description that clients are generated from. A spec fails while it is not current.
const file = join(projectRoot(), OPENAPI_FILE);
mkdirSync(join(projectRoot(), 'docs'), { recursive: true });
writeFileSync(file, openApiText());
process.stdout.write(`${OPENAPI_FILE} is written.\n`);
