import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AttemptBody } from '#domain/attempt/attempt-body';
import type { CodeTable } from '#domain/classify/code-table';
import { PROVIDER_TABLE } from '#domain/classify/provider-codes';
import { confirmToken } from '#domain/consent/confirm-token';
import { type KeyRing, keyRing } from '#domain/key-ring';
import type { PromptRules } from '#domain/prompt/prompt';
import { AllocationStates } from '#event-log/allocation-states';
import { hashOf } from '#event-log/chain';
import { StreamFinder } from '#event-log/find-stream';
import { loadAllocation } from '#event-log/load-allocation';
import { PlacementStates } from '#event-log/placement-states';
import type { PostgresLog } from '#event-log/postgres-log';
import { ZERO_HASH } from '#events/envelope';
import { readEvent } from '#events/upcast';
import { systemClock } from '#platform/clock';
import { Sealer } from '#platform/sealer';
import { ATTEMPT_BODY } from '#support/attempt-bodies';
import { DAY_S, DEFAULT_RULES } from '#support/builders';
import { openLog, withClient } from '#support/open-log';
import { AttemptDecisions } from '../../apps/classifier/src/attempt-decisions.ts';
import { DecisionStates } from '../../apps/classifier/src/decision-states.ts';
import { ConsentAnswers } from '../../apps/consent/src/consent-answers.ts';
import { AttemptIntake } from '../../apps/ingest/src/attempt-intake.ts';

const DEPLOYMENT = 'test';
const KEYS = [{ id: 'k1', bytes: new Uint8Array(32).fill(1) }];
export const WRAP_KEYS = [{ id: 'w1', bytes: new Uint8Array(32).fill(2) }];

/** The settings and provider codes of the deployment that made a history; today's unless given. */
export interface MadeWith {
  readonly rules?: PromptRules;
  readonly table?: CodeTable;
}

/** A history made by the real intake, rules and answers, in one process and one step after the other. */
export class History {
  readonly ring: KeyRing = keyRing(KEYS);
  readonly log: PostgresLog;
  readonly #intake: AttemptIntake;
  readonly #states: DecisionStates;
  readonly #decisions: AttemptDecisions;
  readonly #answers: ConsentAnswers;
  readonly #streams: StreamFinder;

  private constructor(log: PostgresLog, { rules = DEFAULT_RULES, table = PROVIDER_TABLE }: MadeWith) {
    this.log = log;
    this.#streams = new StreamFinder(this.ring, log);
    const sealer = new Sealer({ store: log.sealed, wrapKeys: WRAP_KEYS });
    const shared = { ring: this.ring, streams: this.#streams, log, sealer, clock: systemClock };
    this.#intake = new AttemptIntake({ ...shared, failureRetentionS: DAY_S });
    const placements = new PlacementStates(log, 100);
    this.#states = new DecisionStates(new AllocationStates(log, 100), placements);
    this.#decisions = new AttemptDecisions({
      states: this.#states,
      sealer,
      clock: systemClock,
      rules,
      table,
    });
    this.#answers = new ConsentAnswers({ ...shared, placements, deployment: DEPLOYMENT });
  }

  static async open(url: string, madeWith: MadeWith = {}): Promise<History> {
    return new History(await openLog(url), madeWith);
  }

  /** Reports an attempt and decides it: two positions. */
  async attempt(name: string, change: object = {}): Promise<void> {
    const body = AttemptBody.parse({ ...ATTEMPT_BODY, logical_allocation: name, ...change });
    const prepared = await this.#intake.prepare(body, null, 'local');
    await this.#intake.take(prepared);
    const row = await this.log.byEventId(prepared.attemptEventId);
    const event = row && readEvent(row);
    if (event?.type !== 'AttemptReported') throw new Error('the attempt is not in the log');
    await this.log.append([await this.#decisions.decide(event)]);
  }

  /** Answers the open question: two positions. */
  async answer(name: string, accept: boolean): Promise<void> {
    const { stream, ref, key } = await this.#streams.find(name);
    const open = (await loadAllocation(this.log, stream))?.scalars.openQuestion;
    if (!open) throw new Error('no question is open');
    const { actionDigest, eventId: questionId } = open;
    const token = confirmToken(key, { deployment: DEPLOYMENT, ref, actionDigest, questionId });
    const body = { logical_allocation: name, accept, confirm_token: token, question: undefined };
    const result = await this.#answers.answer(body, null, 'local');
    if (result.kind !== 'answered') throw new Error('the answer was refused');
    this.#states.forget(stream);
  }

  async refOf(name: string): Promise<string> {
    return (await this.#streams.find(name)).ref;
  }

  async streamOf(name: string): Promise<string> {
    return (await this.#streams.find(name)).stream;
  }
}

/** Runs statements as who owns the tables, behind the back of every trigger. */
export function tamper(url: string, ...statements: readonly string[]): Promise<void> {
  return withClient(url, async (client) => {
    await client.query('alter table spillway.event disable trigger all');
    for (const statement of statements) await client.query(statement);
  });
}

/** Hashes the log anew from its first row: what a forger does who may write everything and knows the code. */
export async function rechain(url: string): Promise<void> {
  const log = await openLog(url);
  const [logId, rows] = [await log.logId(), await log.readAfter(0, 1_000)];
  await log.close();
  const statements: string[] = [];
  let prevHash = ZERO_HASH;
  for (const row of rows) {
    const hash = hashOf(logId, { ...row, prevHash });
    statements.push(
      `update spillway.event set prev_hash = '${prevHash}', hash = '${hash}' where pos = ${row.pos}`,
    );
    prevHash = hash;
  }
  await tamper(url, ...statements);
}

export interface CommandRun {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The command line as a process, in a folder that knows the database and keys as `npm start` leaves them. */
export class CommandLine {
  readonly folder = mkdtempSync(join(tmpdir(), 'spillway-cli-'));

  constructor() {
    const files = { ring: `k2:${base64(9)},k1:${base64(1)}`, wrap: `w1:${base64(2)}` };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.folder, name), text);
  }

  get keyEnv() {
    return {
      SPILLWAY_KEY_RING_FILE: join(this.folder, 'ring'),
      SPILLWAY_WRAP_KEYS_FILE: join(this.folder, 'wrap'),
    };
  }

  run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CommandRun> {
    return this.start(args, env).ended;
  }

  /** A command that goes on until it is told to stop. Nothing is inherited from this process but the path. */
  start(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): { readonly stop: () => void; readonly ended: Promise<CommandRun> } {
    const child = spawn(process.execPath, [BIN, ...args], {
      cwd: this.folder,
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<CommandRun>((resolve, reject) => {
      let out = '';
      let err = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        out += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        err += text;
      });
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, out, err }));
    });
    return { stop: () => child.kill('SIGTERM'), ended };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const BIN = fileURLToPath(new URL('../../bin/spillway.js', import.meta.url));

function base64(byte: number): string {
  return Buffer.alloc(32, byte).toString('base64');
}
