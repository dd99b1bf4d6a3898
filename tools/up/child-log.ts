import type { ChildProcess } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';

/**
 * Appends what a child writes to a file that only its owner reads; end the stream when the child has ended. A full
 * disk, or a folder that is gone, ends nobody: neither this process, which would take all others with it, nor the
 * child, which would stand still once nobody takes its lines.
 */
export function childLog(child: ChildProcess, file: string): WriteStream {
  const log = createWriteStream(file, { flags: 'a', mode: 0o600 });
  log.on('error', () => {
    child.stdout?.resume();
    child.stderr?.resume();
  });
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });
  return log;
}
