import type { Terminal } from './command-line/terminal.ts';
import type { ManifestProof } from './export/manifest.ts';
import type { ExportReport } from './export/verify-export.ts';
import type { Exported } from './export/write-export.ts';
import { counted, printGrowth } from './print.ts';
import type { Damaged, SignedPart, VerifyReport } from './verify.ts';

/** Sound, or the first bad position with the kind of damage and of tampering. */
export function printVerify(terminal: Terminal, report: VerifyReport): void {
  const { green } = terminal.colours;
  if (report.ok) {
    terminal.line(`${green('sound')}  up to position ${report.head.pos}, hash ${report.head.hash}`);
  } else {
    printDamage(terminal, report);
  }
  printSigned(terminal, report.signed);
  printGrowth(terminal, report.upTo, report.grownTo, 'verified');
}

/** The same of an export, and what it proves. */
export function printExportReport(terminal: Terminal, report: ExportReport): void {
  const { green } = terminal.colours;
  if (report.ok) {
    const of = report.allocation === null ? '' : ' of one allocation';
    terminal.line(
      `${green('sound')}  ${counted(report.count, 'row')}${of}, up to position ${report.head.pos}, hash ${report.head.hash}`,
    );
  } else {
    printDamage(terminal, report);
  }
  terminal.line(MANIFEST[report.manifest]);
  printSigned(terminal, report.signed);
  for (const sentence of report.proves) terminal.line(`proves  ${sentence}`);
}

/** What was exported. */
export function printExported(terminal: Terminal, folder: string, { manifest, brokenAt }: Exported): void {
  const { count, from, to, files, key_id } = manifest;
  const { red } = terminal.colours;
  const signed = key_id === null ? 'not signed' : `signed by ${key_id}`;
  terminal.line(
    `Exported ${counted(count, 'row')} of the positions ${from} to ${to} in ${counted(files.length, 'file')} to ${folder}, ${signed}.`,
  );
  if (brokenAt === null) return;
  terminal.line(
    `${red('damaged')}  at position ${brokenAt}: what was exported is evidence of it, and is not signed. See: spillway audit verify`,
  );
}

const MANIFEST: Readonly<Record<ManifestProof, string>> = {
  genuine: 'signed  the manifest, by a trusted key',
  forged: 'forged  the manifest was not signed by the key that it names',
  unknown_key: 'unknown  the manifest names a key that is not trusted',
  unsigned: 'unsigned  the manifest has no signature',
  not_checked: 'not checked  the manifest is signed; give --public-keys to check it',
};

/** The first bad position, and what fits it. */
export function printDamage(terminal: Terminal, { pos, kind, damage, tampering }: Damaged): void {
  terminal.line(`${terminal.colours.red('damaged')}  at position ${pos} (${kind}): ${damage}`);
  if (tampering !== null) terminal.line(`fits     ${tampering.fits}: ${tampering.sentence}`);
}

function printSigned(terminal: Terminal, signed: SignedPart | null): void {
  if (signed === null) return;
  const { checkpoints, upTo, doubts } = signed;
  terminal.line(
    `signed   ${checkpoints === 0 ? 'nothing' : `up to position ${upTo}`}, by ${counted(checkpoints, 'checkpoint')}`,
  );
  for (const { line, pos, why } of doubts) {
    const claims = pos === null ? '' : `, which claims position ${pos}`;
    terminal.line(`doubt    line ${line} of the checkpoints${claims}: ${why}`);
  }
}
