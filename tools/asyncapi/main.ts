import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../up/infra/environment.ts';
import { ASYNCAPI_FILE, asyncApiText } from './text.ts';

// `npm run asyncapi`: writes what callers and consumers of the bus are generated from. A spec fails while it is not
// current.
const file = join(projectRoot(), ASYNCAPI_FILE);
mkdirSync(join(projectRoot(), 'docs'), { recursive: true });
writeFileSync(file, asyncApiText());
process.stdout.write(`${ASYNCAPI_FILE} is written.\n`);
