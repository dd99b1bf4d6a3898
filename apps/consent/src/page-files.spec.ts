import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authenticationOff } from '#platform/auth';
import { createHttpServer } from '#platform/http-server';
import { guardAnswers, servePage } from './page-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'spillway-page-'));
const built = join(folder, 'ui');
let server: FastifyInstance;
let bare: FastifyInstance;

beforeAll(async () => {
  mkdirSync(join(built, 'assets'), { recursive: true });
  writeFileSync(join(built, 'index.html'), '<!doctype html><title>page</title>');
  writeFileSync(join(built, 'mark.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  writeFileSync(join(built, 'assets', 'index-abc123.js'), 'export {};');
  writeFileSync(join(folder, 'secret'), 'secret');
  [server, bare] = await Promise.all([serverOf(built), serverOf(join(folder, 'missing'))]);
});
afterAll(async () => {
  await Promise.all([server.close(), bare.close()]);
  rmSync(folder, { recursive: true, force: true });
});

async function serverOf(page: string): Promise<FastifyInstance> {
  const made = await createHttpServer({ authenticator: authenticationOff, callsPerSecond: 100 });
  guardAnswers(made);
  await servePage(made, page);
  await made.ready();
  return made;
}

const get = (url: string) => server.inject({ method: 'GET', url });

describe('the built page', () => {
  test.each([
    '/',
    '/prompts/abc',
    '/allocations',
    '/allocations/abc/def',
    '/overview',
    '/history',
    '/index.html',
  ])('%s opens it, and asks again next time whether it is the newest', async (url) => {
    const reply = await get(url);
    expect([reply.statusCode, reply.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(reply.body).toContain('<title>page</title>');
    expect(reply.headers['cache-control']).toBe('no-cache');
  });

  test('has files that are named after their content, and those are kept', async () => {
    const reply = await get('/assets/index-abc123.js');
    expect(reply.headers['content-type']).toMatch(/javascript/);
    expect(reply.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const mark = await get('/mark.svg');
    expect([mark.statusCode, mark.headers['cache-control']]).toEqual([200, 'no-cache']);
  });

  test.each([
    '/assets/',
    '/assets',
    '/assets/other.js',
    '/../secret',
    '/..%2fsecret',
    '/assets/..%2f..%2fsecret',
    '/api',
  ])('%s is none of it', async (url) => {
    const reply = await get(url);
    expect(reply.statusCode).toBe(404);
    expect(reply.body).not.toContain('secret"');
  });

  test('lets nothing run, load, frame or post that is not its own', async () => {
    for (const url of ['/', '/assets/index-abc123.js', '/nowhere']) {
      expect((await get(url)).headers).toMatchObject({
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
          "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      });
    }
  });
});

test('where no page was built, its paths are unknown ones', async () => {
  for (const url of ['/', '/overview']) {
    expect((await bare.inject({ method: 'GET', url })).statusCode).toBe(404);
  }
});
