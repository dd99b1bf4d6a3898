import { simulate } from './simulate.ts';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever reads the output may stop early (`| head`): that is no failure of ours.
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
process.exitCode = await simulate(process.argv.slice(2), process.stdout, process.stderr);
