import { readFileSync } from 'node:fs';

/** What `npm start` decides itself: where things are, and by which keys. The servers' own are no business of an app. */
const DECIDED_HERE =
  /^SPILLWAY_(DATABASE_URL|KEY_RING|WRAP_KEYS|CHECKPOINT_KEYS|LANES|HOST|PORT|INGEST_URL|END_WITH_STDIN|KILL_\w+|POSTGRES_\w+|NATS_\w+|CACHE_DIR)(_FILE)?$/;

type Given = Readonly<Record<string, string | undefined>>;

/**
 * The variables of the apps that whoever starts everything has set. All are handed on but those that are decided
 * here: one that was dropped without a word could be the one that keeps real machines from being made.
 */
export function givenVariables(env: Given): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || value === '' || !name.startsWith('SPILLWAY_') || DECIDED_HERE.test(name)
        ? []
        : [[name, value] as const],
    ),
  );
}

/** The lanes that the environment configures, as text or as a file; undefined = none. Throws when there is no such file. */
export function givenLanes(env: Given): string | undefined {
  if (env.SPILLWAY_LANES) return env.SPILLWAY_LANES;
  if (!env.SPILLWAY_LANES_FILE) return undefined;
  try {
    return readFileSync(env.SPILLWAY_LANES_FILE, 'utf8');
  } catch {
    throw new Error('SPILLWAY_LANES_FILE names no file that can be read.');
  }
}
