import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type KeyRing, keyRing } from '#domain/key-ring';
import { type Environment, loadConfig } from '#platform/load-config';
import type { Secret } from '#platform/secret';
import {
  busVariables,
  deploymentVariables,
  keyVariables,
  logVariables,
  type NamedKey,
  proofVariables,
} from '#platform/variables';
import { UsageError } from './run-program.ts';

/** What `npm start` leaves behind of the running or the last instance; what else it says is not needed here. */
const Instance = z.object({
  databaseUrl: z.string(),
  keyRingFile: z.string(),
  wrapKeysFile: z.string(),
  // Absent where an older build wrote the file.
  checkpointKeysFile: z.string().optional(),
  checkpointsFile: z.string().optional(),
  natsUrl: z.string().nullish(),
  deployment: z.string(),
});
type Instance = z.output<typeof Instance>;

/** The variables of the apps, each of which may be absent here. */
export const CommandLineConfig = z.object({
  SPILLWAY_DATABASE_URL: logVariables.SPILLWAY_DATABASE_URL.optional().meta({ orFile: true }),
  SPILLWAY_KEY_RING: keyVariables.SPILLWAY_KEY_RING.optional().meta({ orFile: true }),
  SPILLWAY_WRAP_KEYS: keyVariables.SPILLWAY_WRAP_KEYS.optional().meta({ orFile: true }),
  SPILLWAY_CHECKPOINT_KEYS: proofVariables.SPILLWAY_CHECKPOINT_KEYS.meta({ orFile: true }),
  SPILLWAY_NATS_URL: busVariables.SPILLWAY_NATS_URL.meta({ orFile: true }),
  SPILLWAY_BUS_PREFIX: busVariables.SPILLWAY_BUS_PREFIX,
  SPILLWAY_END_WITH_STDIN: deploymentVariables.SPILLWAY_END_WITH_STDIN,
  // Without its default: a machine's marker must not be read under a guessed name.
  SPILLWAY_DEPLOYMENT: deploymentVariables.SPILLWAY_DEPLOYMENT.unwrap().optional(),
});
const CheckpointKeys = CommandLineConfig.pick({ SPILLWAY_CHECKPOINT_KEYS: true });
type CommandLineConfig = z.output<typeof CommandLineConfig>;

export interface SettingsOptions {
  /** What was given by `--database-url`. */
  readonly databaseUrl?: string | undefined;
  /** This process's unless given. */
  readonly env?: Environment;
  readonly folder?: string;
}

/**
 * Where the database and the keys are: by option, else by the environment, else those of the instance in
 * `.spillway/instance.json` below the current folder. Keys of an instance are used for its own database only:
 * under other keys every name would look as if it had never been reported.
 */
export class Settings {
  readonly databaseUrl: Secret<string>;
  readonly #given: CommandLineConfig;
  readonly #instance: Instance | null;

  /** Throws UsageError or ConfigError, which say what to do. */
  constructor({ databaseUrl, env, folder }: SettingsOptions = {}) {
    this.#given = loadConfig(CommandLineConfig, env);
    const option = databaseUrl === undefined ? undefined : databaseOf(databaseUrl, '--database-url');
    const named = option ?? this.#given.SPILLWAY_DATABASE_URL;
    const instance = readInstance(folder ?? process.cwd(), named !== undefined);
    const found = named ?? (instance && databaseOf(instance.databaseUrl, '.spillway/instance.json'));
    if (!found) throw new UsageError(NO_DATABASE);

    this.databaseUrl = found;
    this.#instance = instance?.databaseUrl === found.reveal() ? instance : null;
  }

  /** Keys of refs, to find an allocation by its name. Throws UsageError when there are none. */
  keyRing(): KeyRing {
    const keys = this.#given.SPILLWAY_KEY_RING ?? this.#ofInstance().SPILLWAY_KEY_RING;
    if (keys === undefined) throw new UsageError('a name is found by the key ring: set SPILLWAY_KEY_RING');
    return keyRing(keys.reveal());
  }

  /** Keys that unseal what callers wrote. Throws UsageError when there are none. */
  wrapKeys(): readonly NamedKey[] {
    const keys = this.wrapKeysIfAny();
    if (keys === null) throw new UsageError('unsealing needs the wrapping keys: set SPILLWAY_WRAP_KEYS');
    return keys;
  }

  /** The same for whoever can go on without them: null when there are none. */
  wrapKeysIfAny(): readonly NamedKey[] | null {
    const keys = this.#given.SPILLWAY_WRAP_KEYS ?? this.#ofInstance().SPILLWAY_WRAP_KEYS;
    return keys?.reveal() ?? null;
  }

  /** Keys that sign what leaves the database, newest first; null when there are none. */
  checkpointKeys(): readonly NamedKey[] | null {
    const keys = this.#given.SPILLWAY_CHECKPOINT_KEYS ?? this.#ofInstance().SPILLWAY_CHECKPOINT_KEYS;
    return keys?.reveal() ?? null;
  }

  /** The file in which the instance keeps its signed checkpoints; null for a database that is not its own. */
  get checkpointsFile(): string | null {
    return this.#instance?.checkpointsFile ?? null;
  }

  /** This process was started by another one, and is to end with it. */
  get endsWithStdin(): boolean {
    return this.#given.SPILLWAY_END_WITH_STDIN === 'yes';
  }

  /** Where the bus is. Throws UsageError when none is given. */
  bus(): { readonly url: string; readonly prefix: string; readonly deployment: string } {
    const given = this.#given.SPILLWAY_NATS_URL?.reveal() ?? this.#instance?.natsUrl ?? null;
    if (given === null) throw new UsageError('no bus is named: set SPILLWAY_NATS_URL');
    return { url: given, prefix: this.#given.SPILLWAY_BUS_PREFIX, deployment: this.deployment() };
  }

  /** The name that machines of this deployment carry. Throws UsageError when none is given. */
  deployment(): string {
    const name = this.#given.SPILLWAY_DEPLOYMENT ?? this.#instance?.deployment;
    if (name === undefined) {
      throw new UsageError('a machine is recognised by the deployment it carries: set SPILLWAY_DEPLOYMENT');
    }
    return name;
  }

  #ofInstance(): Partial<CommandLineConfig> {
    if (this.#instance === null) return {};
    const { keyRingFile, wrapKeysFile, checkpointKeysFile } = this.#instance;
    return loadConfig(CommandLineConfig, {
      SPILLWAY_KEY_RING_FILE: keyRingFile,
      SPILLWAY_WRAP_KEYS_FILE: wrapKeysFile,
      SPILLWAY_CHECKPOINT_KEYS_FILE: checkpointKeysFile,
    });
  }
}

/** The signing keys of the environment or of the instance in the folder; null = neither. Needs no database. */
export function checkpointKeysAtHand({ env, folder }: SettingsOptions = {}): readonly NamedKey[] | null {
  const given = loadConfig(CheckpointKeys, env).SPILLWAY_CHECKPOINT_KEYS;
  if (given !== undefined) return given.reveal();
  const file = readInstance(folder ?? process.cwd(), true)?.checkpointKeysFile;
  return (
    loadConfig(CheckpointKeys, { SPILLWAY_CHECKPOINT_KEYS_FILE: file }).SPILLWAY_CHECKPOINT_KEYS?.reveal() ??
    null
  );
}

const NO_DATABASE =
  'no database is named: give --database-url, set SPILLWAY_DATABASE_URL, or run `npm start` in this folder';

function databaseOf(url: string, where: string): Secret<string> {
  const parsed = CommandLineConfig.safeParse({ SPILLWAY_DATABASE_URL: url });
  const database = parsed.data?.SPILLWAY_DATABASE_URL;
  if (database === undefined) throw new UsageError(`${where} has no URL that starts with postgres://`);
  return database;
}

function readInstance(folder: string, isOptional: boolean): Instance | null {
  try {
    return Instance.parse(JSON.parse(readFileSync(join(folder, '.spillway', 'instance.json'), 'utf8')));
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (isMissing || isOptional) return null;
    throw new UsageError(
      '.spillway/instance.json cannot be read: run `npm start` again, or give --database-url',
    );
  }
}
