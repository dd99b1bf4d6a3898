import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** What the system says about a process; a zombie counts as gone. */
export interface ProcessFacts {
  readonly parent: number;
  readonly stopped: boolean;
  /** Tells a process from a later one that was given the same number. */
  readonly startedAt: string;
}

const hasProc = process.platform === 'linux';

/** The facts about a running process, or undefined when there is none (any more). */
export function inspectProcess(pid: number): ProcessFacts | undefined {
  return hasProc ? fromProc(pid) : fromPs(pid);
}

export function isRunning(pid: number): boolean {
  return inspectProcess(pid) !== undefined;
}

/** The words of the command line; empty when the process is gone. */
export function commandLine(pid: number): readonly string[] {
  if (!hasProc) return ps(pid, 'command=').split(/\s+/);
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** Direct children, as of now: stop the parent first if it may fork meanwhile. */
export function childrenOf(parent: number): readonly number[] {
  return allProcesses().filter((pid) => inspectProcess(pid)?.parent === parent);
}

/** Sends a signal (0 only asks); false when the process is gone, a zombie is not. Throws for another user's. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

function fromProc(pid: number): ProcessFacts | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The name in parentheses may hold anything, blanks and parentheses too: fields count from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0] ?? '';
  if ('ZX'.includes(state)) return undefined;
  return { parent: Number(fields[1]), stopped: 'Tt'.includes(state), startedAt: fields[19] ?? '' };
}

function fromPs(pid: number): ProcessFacts | undefined {
  const [state, parent, ...startedAt] = ps(pid, 'state=,ppid=,lstart=').split(/\s+/);
  if (state === undefined || state === '' || state.startsWith('Z')) return undefined;
  return { parent: Number(parent), stopped: state.startsWith('T'), startedAt: startedAt.join(' ') };
}

function ps(pid: number, columns: string): string {
  return spawnSync('ps', ['-o', columns, '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() ?? '';
}

function allProcesses(): readonly number[] {
  const names = hasProc
    ? readdirSync('/proc')
    : spawnSync('ps', ['-axo', 'pid='], { encoding: 'utf8' }).stdout.split('\n');
  return names.map(Number).filter((pid) => Number.isInteger(pid) && pid > 0);
}
