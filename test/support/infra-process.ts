import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import ts from 'typescript';
import { type Identity, waitUntil } from '../../tools/up/infra/chain.ts';
import { projectRoot } from '../../tools/up/infra/environment.ts';
import { isRunning } from '../../tools/up/infra/processes.ts';

const START_BOUND_MS = 30_000;

/** A process that brought up a server and keeps it, to be killed or asked to end. */
export interface InfraProcess {
  readonly pid: number;
  readonly server: { readonly url: string; readonly pid: number; readonly source: string };
  /** Sends the signal and waits until the process, not the server, is gone. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** The chain as plain JavaScript, which a process without vitest can run, under another account too. */
export interface CompiledInfra {
  start(
    call: 'startPostgres' | 'startNats',
    options: Readonly<Record<string, unknown>>,
    as?: Identity,
  ): Promise<InfraProcess>;
  remove(): Promise<void>;
}

/** Compiles file by file, without types: what else is in the tree need not compile. */
export function compileInfra(): CompiledInfra {
  const sources = join(projectRoot(), 'tools', 'up', 'infra');
  const parent = join(projectRoot(), '.spillway', 'test');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'compiled-'));
  chmodSync(folder, 0o755);
  for (const name of readdirSync(sources).filter((file) => /(?<!\.spec)\.ts$/.test(file))) {
    const { outputText } = ts.transpileModule(readFileSync(join(sources, name), 'utf8'), {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2023,
        rewriteRelativeImportExtensions: true,
      },
    });
    writeFileSync(join(folder, name.replace(/\.ts$/, '.js')), outputText);
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'keep.js'), KEEP);
  return {
    start: (call, options, as) => startKeeper(folder, call, options, as),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

const KEEP = `
const [, , file, call, options] = process.argv;
const module = await import(file);
const server = await module[call](JSON.parse(options));
console.log(JSON.stringify({ url: server.url, pid: server.pid(), source: server.source }));
setInterval(() => {}, 1000);
`;

async function startKeeper(
  folder: string,
  call: 'startPostgres' | 'startNats',
  options: Readonly<Record<string, unknown>>,
  as: Identity | undefined,
): Promise<InfraProcess> {
  const file = join(folder, call === 'startPostgres' ? 'postgres.js' : 'nats.js');
  const child = spawn(process.execPath, [join(folder, 'keep.js'), file, call, JSON.stringify(options)], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(as && { uid: as.uid, gid: as.gid }),
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${process.execPath} cannot be started.`);
  return {
    pid,
    server: JSON.parse(await firstLine(child)),
    end: async (signal) => {
      child.kill(signal);
      await waitUntil(`process ${pid} ends by ${signal}`, START_BOUND_MS, () => !isRunning(pid));
    },
  };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let complaint = '';
    const { stdout, stderr } = child;
    if (stdout === null || stderr === null) return reject(new Error('The process has no output.'));
    stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint += text;
    });
    createInterface(stdout).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`The process ended with ${code}: ${complaint}`)));
  });
}
