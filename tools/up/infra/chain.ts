import { spawn } from 'node:child_process';
import { createConnection, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export type Log = (line: string) => void;

/** An account to run a command under; undefined where used means "as we are". */
export interface Identity {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Why one way of getting a server is not open, as a clause; `fix` where a command other than the usual helps. */
export interface Refusal {
  readonly reason: string;
  readonly fix?: string;
}

/** Something is missing on this machine. The message is one sentence and names the command that helps. */
export class MissingInfrastructure extends Error {
  override readonly name = 'MissingInfrastructure';

  constructor(
    readonly reason: string,
    readonly fix: string,
  ) {
    super(`${reason}: ${fix}.`);
  }
}

/** Resolves as soon as the condition holds; rejects, naming what was waited for, after the bound. */
export async function waitUntil(
  what: string | (() => string),
  boundMs: number,
  condition: () => boolean | Promise<boolean>,
  pollIntervalMs = 5,
): Promise<void> {
  const deadline = performance.now() + boundMs;
  while (!(await condition())) {
    if (performance.now() > deadline) {
      throw new Error(`Waited ${boundMs} ms in vain: ${typeof what === 'string' ? what : what()}.`);
    }
    await pause(pollIntervalMs);
  }
}

export interface CommandOptions {
  readonly timeoutMs: number;
  readonly as?: Identity | undefined;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface CommandResult {
  readonly ok: boolean;
  readonly stdout: string;
  /** What went wrong in the command's own words, or why it did not run. */
  readonly complaint: string;
}

/** Runs a command to its end within a bound. Never rejects: a missing program is a result like any other. */
export function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      cwd: options.cwd ?? '/',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: options.env ?? plainEnvironment(),
      ...(options.as && { uid: options.as.uid, gid: options.as.gid }),
    });
    let stdout = '';
    let stderr = '';
    let late = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const timer = setTimeout(() => {
      late = true;
      child.kill('SIGKILL');
      // A grandchild may hold the pipes open; its output is of no more use.
      child.stdout.destroy();
      child.stderr.destroy();
    }, options.timeoutMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      resolve({ ok: false, stdout, complaint: error.message });
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      const complaint = late ? `${file} took longer than ${options.timeoutMs} ms` : stderr.trim();
      resolve({ ok: code === 0 && !late, stdout, complaint });
    });
  });
}

/** What a started server sees of our environment: nothing that could change how it behaves. */
export function plainEnvironment(): Readonly<Record<string, string>> {
  return { PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin', LANG: 'C', LC_ALL: 'C', TZ: 'UTC' };
}

const handedOut = new Set<number>();

/**
 * A free port on loopback, never the same twice in a process. Below the range from which the system
 * takes ports for outgoing connections: a client that keeps dialling a port in that range while the
 * server is down can end up connected to itself, and the server cannot have its port back.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = 15_000 + Math.floor(Math.random() * 17_000);
    if (!handedOut.has(port) && (await canListen(port))) {
      handedOut.add(port);
      return port;
    }
  }
  throw new Error('No free port between 15000 and 32000 on 127.0.0.1.');
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * Dials once. True when something accepts, or, where a greeting is expected, when the first line
 * matches it; false when nothing does within the bound.
 */
export function answers(host: string, port: number, boundMs: number, greeting?: RegExp): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    let received = '';
    socket.setTimeout(boundMs, () => end(false));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
    socket.once('connect', () => {
      if (greeting === undefined) end(true);
    });
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
      if (greeting?.test(received)) end(true);
      else if (received.includes('\n')) end(false);
    });
  });
}
