import { parseArgs } from 'node:util';
import { startCloud } from './start-cloud.ts';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * The stand-in cloud as a process of its own: `node dist/test/cloud/main.js --port 8810 --delay 2`. Port 0
 * takes a free one; the URL is the first line of standard output. SIGTERM ends it, and with `--end-with-stdin`
 * also the end of standard input: whoever started it holds that open.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: process.env.SPILLWAY_CLOUD_PORT ?? '0' },
      'end-with-stdin': { type: 'boolean', default: process.env.SPILLWAY_END_WITH_STDIN === 'yes' },
      delay: { type: 'string', default: process.env.SPILLWAY_CLOUD_DELAY_S ?? '0' },
    },
  });
  const cloud = await startCloud({
    port: numberOf('port', values.port),
    delayS: numberOf('delay', values.delay),
  });
  process.stdout.write(`${cloud.url}\n`);
  const end = () => void cloud.close().then(() => process.exit(0));
  for (const signal of STOP_SIGNALS) process.once(signal, end);
  if (values['end-with-stdin']) process.stdin.once('end', end).resume();
}

function numberOf(name: string, text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number) || number < 0) throw new Error(`--${name} is no number`);
  return number;
}

main().catch((error: unknown) => {
  process.stderr.write(`cloud: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
