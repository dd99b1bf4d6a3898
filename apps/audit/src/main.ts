import { Command } from 'commander';
import { addAuditTools } from './audit-command.ts';
import { runProgram } from './command-line/run-program.ts';
import { processTerminal } from './command-line/terminal.ts';

/** The auditor's tools as a process of their own: what `spillway audit` runs, where nothing else is installed. */
const program = new Command('spillway-audit').description('Reads the log and proves what it says.');
addAuditTools(program, processTerminal());
await runProgram(program, process.argv.slice(2));
