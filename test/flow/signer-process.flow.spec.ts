import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withPostgres } from '#support/infra';
import { command } from '#support/log-builders';
import { openLog } from '#support/open-log';
import { keyFiles } from '#tools/up/keys';
import { SignerProcess } from '#tools/up/signer-process';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { tamper } from '../integration/audit-kit.ts';

const BOUND_MS = 30_000;
/** Its parent ends it by force after ten. */
const ENDS_WITHIN_MS = 5_000;

const database = withPostgres();
const folder = mkdtempSync(join(tmpdir(), 'spillway-signer-'));
const logFile = join(folder, 'checkpoint.log');
const checkpointsFile = join(folder, 'checkpoints.jsonl');
const ended: string[] = [];
let signer: SignerProcess;

beforeAll(async () => {
  const log = await openLog(database.url);
  await log.append([command()]);
  await log.close();
});
afterAll(async () => {
  await signer?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function startSigner(): SignerProcess {
  return new SignerProcess({
    databaseUrl: database.url,
    checkpointKeysFile: keyFiles(join(folder, 'keys')).checkpointKeys,
    checkpointsFile,
    deployment: 'test',
    logFile,
    onUnexpectedExit: (how) => ended.push(how),
  });
}

test('asked to end between two signatures, it ends at once', async () => {
  signer = startSigner();
  const hasSigned = () => existsSync(logFile) && readFileSync(logFile, 'utf8').includes('Signed position 1');
  await waitUntil('the head is signed', BOUND_MS, hasSigned);
  const startedMs = performance.now();
  await signer.stop();
  expect(performance.now() - startedMs).toBeLessThan(ENDS_WITHIN_MS);
  expect(ended).toEqual([]);
});

test('it ends by itself when the log contradicts what was signed, so that somebody is told', async () => {
  await tamper(database.url, `update spillway.event set body = '{}' where pos = 1`);
  signer = startSigner();
  await waitUntil('it has ended', BOUND_MS, () => ended.length > 0);
  expect(ended).toEqual(['code 1']);
});
