import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const Service = z.object({
  image: z.string(),
  user: z.string(),
  restart: z.string(),
  read_only: z.boolean(),
  cap_drop: z.array(z.string()),
  security_opt: z.array(z.string()),
  mem_limit: z.string(),
  pids_limit: z.number(),
  logging: z.object({ driver: z.string(), options: z.record(z.string(), z.string()) }),
  command: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  secrets: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  networks: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  network_mode: z.string().optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
});
export type Service = z.output<typeof Service>;

const ComposeFile = z.object({
  services: z.record(z.string(), Service),
  networks: z.record(z.string(), z.object({ internal: z.boolean().optional() })),
  volumes: z.record(z.string(), z.unknown()),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
});

/** docker-compose.yml as Compose reads it where no variable is set: defaults filled in, merges done. */
export function composeText(): unknown {
  const text = readFileSync('docker-compose.yml', 'utf8').replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
  return parse(text, { merge: true });
}

export function composeFile(): z.output<typeof ComposeFile> {
  return ComposeFile.parse(composeText());
}

/** What the proxy sends where (to nobody = ''), and what it says itself. */
export function caddyFile() {
  const text = readFileSync('deploy/Caddyfile', 'utf8');
  const routes = [
    ...text.matchAll(/@(\w+) path (.+)\n\s*handle @\1 \{\s*(?:reverse_proxy (\S+)|error 404)/g),
  ].map(([, name = '', paths = '', upstream = '']) => ({ name, paths: paths.trim().split(' '), upstream }));
  const own = [...text.matchAll(/respond `(.+)` (\d+)/g)].map(([, body = '', status = '']) => ({
    body: JSON.parse(body) as unknown,
    status: Number(status),
  }));
  const [, listens = ''] = /^:(\d+) \{$/m.exec(text) ?? [];
  return { listens: Number(listens), routes, own };
}

/** The route that a path takes: the first one that has it, as Caddy orders `handle` blocks of this file. */
export function routeOf(path: string): string | undefined {
  return caddyFile().routes.find(({ paths }) =>
    paths.some((one) => (one.endsWith('*') ? path.startsWith(one.slice(0, -1)) : path === one)),
  )?.name;
}
