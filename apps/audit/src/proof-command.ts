import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { readCheckpointLines } from '#event-log/checkpoint-lines';
import { type PublicKeys, PublicKeysUnreadable, readPublicKeys, signingKeys } from '#event-log/signing-keys';
import { allocationStream } from '#events/streams';
import { systemClock } from '#platform/clock';
import { withAuditLog } from './audit-log.ts';
import { countArgument, type LogOptions, logOptions } from './command-line/log-options.ts';
import { refArgument } from './command-line/ref-argument.ts';
import { EXIT, UsageError } from './command-line/run-program.ts';
import { Settings } from './command-line/settings.ts';
import type { Terminal } from './command-line/terminal.ts';
import { ROW_FORMATS, type RowFormat } from './export/manifest.ts';
import { ExportFolder, NoExport } from './export/read-export.ts';
import { RowNotExact } from './export/row-not-exact.ts';
import { verifyExport } from './export/verify-export.ts';
import { ExportRefused, writeExport } from './export/write-export.ts';
import { ownProof } from './own-proof.ts';
import { printExported, printExportReport, printVerify } from './print-proof.ts';
import { verify } from './verify.ts';

interface ProofOptions extends LogOptions {
  readonly checkpoints?: string;
  readonly publicKeys?: string;
}

interface VerifyOptions extends ProofOptions {
  readonly export?: string;
}

interface ExportOptions extends ProofOptions {
  readonly out: string;
  readonly from?: number;
  readonly to?: number;
  readonly allocation?: string;
  readonly format: RowFormat;
}

/** Adds what proves the log to somebody who does not trust who keeps it (design 5, 10). */
export function addProofTools(audit: Command, terminal: Terminal): void {
  proof(audit.command('verify'))
    .description(
      'Verifies the hash chain, all versions and, where given, the signed checkpoints. Ends with 1, names the first bad position and says what kind of tampering fits.',
    )
    .option('--export <folder>', 'verify an export by itself instead of the log; needs no database')
    .action((options: VerifyOptions) =>
      options.export === undefined
        ? showVerify(terminal, options)
        : showVerifyExport(terminal, options.export, options),
    );

  proof(audit.command('export'))
    .description(
      'Writes rows of the log to an empty folder, with a manifest that is signed where there is a key. Names and texts stay behind.',
    )
    .requiredOption('--out <folder>', 'made when it is missing')
    .option('--from <position>', 'first position; else 1', countArgument(Number.MAX_SAFE_INTEGER))
    .option('--to <position>', 'last position; else the head', countArgument(Number.MAX_SAFE_INTEGER))
    .option('--allocation <ref>', 'the rows of one allocation only', refArgument)
    .addOption(new Option('--format <format>', 'form of the rows').choices(ROW_FORMATS).default('jsonl'))
    .action((options: ExportOptions) => runExport(terminal, options));
}

function proof(command: Command): Command {
  return logOptions(command)
    .option('--checkpoints <file>', 'signed checkpoints, kept outside of the database; needs --public-keys')
    .option('--public-keys <file>', 'whom to trust: a JSON Web Key Set of Ed25519 keys');
}

async function showVerify(terminal: Terminal, options: VerifyOptions): Promise<void> {
  const settings = new Settings(options);
  const own =
    options.checkpoints === undefined && options.publicKeys === undefined
      ? ownProof(settings.checkpointsFile, settings.checkpointKeys())
      : null;
  const keys = own?.keys ?? trustedKeys(options);
  const text = own?.text ?? checkpointText(options);
  const progress = terminal.progress('verify');
  const report = await withAuditLog(settings.databaseUrl, async (log) =>
    verify(log, {
      onProgress: progress.on,
      ...(keys === null || text === null
        ? {}
        : { checkpoints: readCheckpointLines(text, keys, await log.logId()) }),
    }),
  ).finally(progress.end);
  if (options.json) terminal.json(report);
  else printVerify(terminal, report);
  if (own !== null && !options.json) {
    terminal.line(
      `by       the keys and the checkpoints of this instance. Who may write its folder could make both anew: keep copies elsewhere, and give them by --checkpoints and --public-keys.`,
    );
  }
  process.exitCode = report.ok ? EXIT.ok : EXIT.finding;
}

async function showVerifyExport(terminal: Terminal, folder: string, options: ProofOptions): Promise<void> {
  const keys = trustedKeys(options);
  const checkpoints = checkpointText(options);
  const source = await asUsage(() => ExportFolder.open(folder));
  const progress = terminal.progress('verify');
  const report = await verifyExport(source, {
    keys,
    onProgress: progress.on,
    ...(checkpoints === null ? {} : { checkpoints }),
  }).finally(progress.end);
  if (options.json) terminal.json(report);
  else printExportReport(terminal, report);
  process.exitCode = report.ok ? EXIT.ok : EXIT.finding;
}

async function runExport(terminal: Terminal, options: ExportOptions): Promise<void> {
  const settings = new Settings(options);
  const keys = trustedKeys(options);
  const text = checkpointText(options);
  const { from, to } = options;
  const ring = signingKeys(settings.checkpointKeys() ?? []);
  const progress = terminal.progress('export');
  const exported = await asUsage(() =>
    withAuditLog(settings.databaseUrl, async (log) =>
      writeExport(log, {
        folder: options.out,
        rows: options.format,
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        ...(options.allocation === undefined ? {} : { stream: allocationStream(options.allocation) }),
        key: ring[0] ?? null,
        ...(keys === null || text === null
          ? {}
          : { checkpoints: readCheckpointLines(text, keys, await log.logId()) }),
        exportedAt: systemClock.now(),
        onProgress: progress.on,
      }),
    ),
  ).finally(progress.end);
  if (options.json) terminal.json(exported);
  else printExported(terminal, options.out, exported);
  process.exitCode = exported.brokenAt === null ? EXIT.ok : EXIT.finding;
}

/** Whom to trust; null = nobody was named. Throws UsageError. */
export function trustedKeys({ publicKeys }: ProofOptions): PublicKeys | null {
  if (publicKeys === undefined) return null;
  try {
    return readPublicKeys(fileText('--public-keys', publicKeys));
  } catch (error) {
    if (error instanceof PublicKeysUnreadable) throw new UsageError(`--public-keys: ${error.message}`);
    throw error;
  }
}

/** Text of the file of checkpoints; null = none was named. Throws UsageError. */
export function checkpointText({ checkpoints, publicKeys }: ProofOptions): string | null {
  if (checkpoints === undefined) return null;
  if (publicKeys === undefined) throw new UsageError('--checkpoints proves nothing without --public-keys');
  return fileText('--checkpoints', checkpoints);
}

/** What is wrong with an export or its folder is the caller's to repair, and is said in one sentence. */
export async function asUsage<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof NoExport || error instanceof ExportRefused || error instanceof RowNotExact) {
      throw new UsageError(error.message);
    }
    throw error;
  }
}

function fileText(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new UsageError(`${option} names a file that cannot be read`);
  }
}
