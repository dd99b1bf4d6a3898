import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { z } from 'zod';
import { addAuditTools } from '../../apps/audit/src/audit-command.ts';
import { runProgram } from '../../apps/audit/src/command-line/run-program.ts';
import { processTerminal } from '../../apps/audit/src/command-line/terminal.ts';
import { projectRoot } from '../up/infra/environment.ts';

const terminal = processTerminal();
const args = process.argv.slice(2);
const Package = z.object({ version: z.string() });

function versionOf(): string {
  return Package.parse(JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8'))).version;
}

const program = new Command('spillway')
  .description('The command line of Spillway.')
  .version(versionOf())
  .addHelpText(
    'after',
    '\nEnds with 0, with 1 on a finding, with 2 when the call or its settings are wrong.',
  );

const audit = program.command('audit').description('Reads the log and proves what it says. Changes nothing.');
const admin = program.command('admin').description('Changes something, under a role of its own.');
addAuditTools(audit, terminal);
// What can change something is not even loaded into an auditor's process.
if (args[0] !== 'audit') {
  const { addAdminTools } = await import('./admin-command.ts');
  addAdminTools(admin, terminal);
}
await runProgram(program, args);
