import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';

/** Where the build puts the page: beside this app's own code. */
const PAGE_FOLDER = fileURLToPath(new URL('../ui/', import.meta.url));

/** Paths of the page's views: each opens the page, which reads the rest of the path itself. */
const VIEWS = ['/', '/prompts/*', '/allocations', '/allocations/*', '/overview', '/history'];

/** Nothing but our own files may be loaded, framed or posted to, and no markup that slips in can run. */
const GUARDS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** Every answer of this app tells the browser to guard it: pages, their files and what they read. */
export function guardAnswers(server: FastifyInstance): void {
  server.addHook('onRequest', async (_request, reply) => {
    reply.headers(GUARDS);
  });
}

/**
 * Serves the built page: exactly the files that are in the folder when the app starts. Without a built page, as in
 * tests of the calls alone, its paths are unknown ones.
 */
export async function servePage(server: FastifyInstance, folder = PAGE_FOLDER): Promise<void> {
  if (!existsSync(join(folder, 'index.html'))) return;
  await server.register(fastifyStatic, {
    root: folder,
    wildcard: false,
    index: false,
    cacheControl: false,
    // A part of so small a file helps nobody, and cannot be asked for in a way that fails.
    acceptRanges: false,
    setHeaders: (reply, path) => void reply.header('cache-control', cachingOf(path)),
  });
  for (const path of VIEWS) server.get(path, (_request, reply) => reply.sendFile('index.html'));
}

/** The build names what is below `assets/` after its content: such a name never means another file. */
function cachingOf(path: string): string {
  return path.includes('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
}
