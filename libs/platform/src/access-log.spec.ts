import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type AccessEntry, logAccess, openAccessLog } from './access-log.ts';
import { FixedTokens } from './auth.ts';
import { createHttpServer } from './http-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'spillway-access-'));
const file = join(folder, 'below', 'access.log');
const REF = 'a'.repeat(64);
const READ: AccessEntry = {
  subject: 'auditor-1',
  method: 'GET',
  route: '/api/audit/allocations/:ref',
  ref: REF,
  status: 200,
  durationMs: 12.4,
};
const faults: unknown[] = [];
const open = (fileMaxBytes?: number) =>
  openAccessLog({
    app: 'audit',
    deployment: 'test',
    file,
    onFault: (error) => faults.push(error),
    ...(fileMaxBytes === undefined ? {} : { fileMaxBytes }),
  });
const lines = (of = file): readonly unknown[] =>
  readFileSync(of, 'utf8')
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

beforeEach(() => rmSync(join(folder, 'below'), { recursive: true, force: true }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a read is one line, behind those that are there, for nobody else on the machine', () => {
  for (let times = 0; times < 2; times += 1) {
    const log = open();
    log.write(READ);
    log.close();
  }
  const line = { log: 'access', app: 'audit', deployment: 'test', ...READ, durationMs: 12 };
  expect(lines()).toEqual([
    { ...line, time: expect.any(String) },
    { ...line, time: expect.any(String) },
  ]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test.each([
  ['a ref in another form', { ref: 'team-a/finetune-7' }, { ref: null }],
  ['a subject with a line break', { subject: 'a\nb' }, { subject: '[withheld]' }],
  ['nobody', { subject: null }, { subject: null }],
])('%s is not repeated', (_what, change, shown) => {
  const log = open();
  log.write({ ...READ, ...change });
  log.close();
  expect(lines()).toMatchObject([shown]);
});

test('at its bound the file is set aside, and what was aside goes', () => {
  const log = open(600);
  for (let status = 0; status < 9; status += 1) log.write({ ...READ, status });
  log.close();
  expect(statSync(file).size).toBeLessThanOrEqual(600);
  expect(statSync(`${file}.1`).size).toBeLessThanOrEqual(600);
  expect([...lines(`${file}.1`), ...lines()]).toMatchObject([{ status: 6 }, { status: 7 }, { status: 8 }]);
  expect(existsSync(`${file}.2`)).toBe(false);
});

test('a line that cannot be written is told, and stops nobody', () => {
  const log = open();
  log.close();
  log.write(READ);
  expect(faults).toHaveLength(1);
});

test('every answer below its path is logged by its template, refusals too, and nothing else', async () => {
  const server = await createHttpServer({
    authenticator: new FixedTokens({ 'a-token': { subject: 'auditor-1', scopes: ['audit'] } }),
    callsPerSecond: 10,
  });
  const written: AccessEntry[] = [];
  logAccess(server, '/api/audit', { write: (entry) => written.push(entry), close: () => undefined });
  server.get('/api/audit/allocations/:ref', async () => ({ ok: true }));
  server.get('/health/live', async () => ({ ok: true }));
  const authorization = 'Bearer a-token';
  await server.inject({ url: `/api/audit/allocations/${REF}?name=team-a`, headers: { authorization } });
  await server.inject({ url: `/api/audit/allocations/${REF}` });
  await server.inject({ url: '/health/live', headers: { authorization } });
  await server.close();
  expect(written).toEqual([
    { ...READ, durationMs: expect.any(Number) },
    { ...READ, subject: null, status: 401, durationMs: expect.any(Number) },
  ]);
});
