import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * JetStream with its store encrypted: inputs rest there until they are appended. No monitoring port.
 * The text holds the key, so the file it goes into must be private.
 */
export function natsConfigText(storeDir: string, key: string): string {
  return `max_payload: 1MB
jetstream {
  store_dir: ${JSON.stringify(storeDir)}
  max_mem: 256MB
  max_file: 4GB
  cipher: chacha
  key: "${key}"
}
`;
}

/** The key of this store, made when it is first asked for. */
export function natsStoreKey(storeDir: string): string {
  const file = join(storeDir, 'jetstream.key');
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}

/** What a server says to whoever connects, once it is ready, if it is the one of this name. */
export function natsGreeting(serverName: string): RegExp {
  return new RegExp(`^INFO \\{.*"server_name":"${serverName}"`);
}
