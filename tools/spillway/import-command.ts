import type { Command } from 'commander';
import { z } from 'zod';
import { ImportRefused, type ImportSource, importLog } from '#event-log/import-log';
import { EXIT, UsageError } from '../../apps/audit/src/command-line/run-program.ts';
import { Settings } from '../../apps/audit/src/command-line/settings.ts';
import type { Terminal } from '../../apps/audit/src/command-line/terminal.ts';
import { STREAM_KEYS_FILE } from '../../apps/audit/src/export/manifest.ts';
import { ExportFolder } from '../../apps/audit/src/export/read-export.ts';
import { verifyExport } from '../../apps/audit/src/export/verify-export.ts';
import { counted } from '../../apps/audit/src/print.ts';
import { printExportReport } from '../../apps/audit/src/print-proof.ts';
import { asUsage, checkpointText, trustedKeys } from '../../apps/audit/src/proof-command.ts';
import { type AdminOptions, database } from './admin-log.ts';

interface ImportCommandOptions extends AdminOptions {
  readonly in: string;
  readonly publicKeys?: string;
  readonly checkpoints?: string;
  readonly unsigned?: boolean;
}

/** Adds the way back of `audit export`: the same log, with the same positions and hashes, in an empty database. */
export function addImportTool(admin: Command, terminal: Terminal): void {
  database(admin.command('import'))
    .description(
      'Fills a fresh, migrated database with an export of a log from position 1 on. Names and texts are not in an export. Refuses one that does not verify.',
    )
    .requiredOption('--in <folder>', 'what `audit export` wrote')
    .option('--public-keys <file>', 'whom to trust: a JSON Web Key Set of Ed25519 keys')
    .option('--checkpoints <file>', 'signed checkpoints, kept outside of the database')
    .option('--unsigned', 'take it on trust: nobody vouches for it')
    .action((options: ImportCommandOptions) => runImport(terminal, options));
}

async function runImport(terminal: Terminal, options: ImportCommandOptions): Promise<void> {
  const keys = trustedKeys(options);
  const checkpoints = checkpointText(options);
  if ((keys === null) === (options.unsigned !== true)) {
    throw new UsageError('say whom to trust by --public-keys, or take it on trust by --unsigned');
  }
  const { databaseUrl } = new Settings(options);
  const folder = await asUsage(() => ExportFolder.open(options.in));
  const { manifest } = folder;
  if (manifest.allocation !== null || manifest.from !== 1 || manifest.count === 0) {
    throw new UsageError('only an export of all rows from position 1 on can be imported');
  }

  const verifying = terminal.progress('verify');
  const report = await verifyExport(folder, {
    keys,
    onProgress: verifying.on,
    ...(checkpoints === null ? {} : { checkpoints }),
  }).finally(verifying.end);
  if (!report.ok) {
    printExportReport(terminal, report);
    process.exitCode = EXIT.finding;
    return;
  }

  const importing = terminal.progress('import');
  const head = await importLog(databaseUrl.reveal(), sourceOf(folder), {
    onProgress: (pos) => importing.on(pos, manifest.to),
  })
    .catch((error: unknown) => {
      throw error instanceof ImportRefused ? new UsageError(error.message) : error;
    })
    .finally(importing.end);
  terminal.line(
    `Imported ${counted(manifest.count, 'row')}: the log stands at position ${head.pos}, hash ${head.hash}.`,
  );
  terminal.line(
    'Names, texts and the marks of polls that changed nothing stayed behind: tools and page say that they are gone.',
  );
}

function sourceOf(folder: ExportFolder): ImportSource {
  return {
    logId: folder.manifest.log_id,
    to: folder.manifest.to,
    pages: () => folder.pages(),
    async *streamKeys() {
      for await (const line of folder.sideLines(STREAM_KEYS_FILE)) {
        const { stream, ring_key_id } = StreamKey.parse(JSON.parse(line));
        yield { stream, ringKeyId: ring_key_id };
      }
    },
  };
}

const StreamKey = z.strictObject({ stream: z.string(), ring_key_id: z.string() });
