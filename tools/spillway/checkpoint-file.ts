import { mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The whole lines of the file; empty where there is none yet. A last line that a crash cut off is left out. */
export async function readWholeLines(path: string): Promise<string> {
  try {
    return wholeLines(await readFile(path, 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

/**
 * Appends lines and has them on the disk when it returns. A last line that a crash cut off is cut back first. Also
 * without lines the file's time becomes `at`: whoever watches sees when the log was looked at last.
 */
export async function appendLines(path: string, lines: string, at: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, 'a+', 0o644);
  try {
    const present = await file.readFile('utf8');
    const whole = wholeLines(present);
    if (whole.length < present.length) await file.truncate(Buffer.byteLength(whole));
    await file.appendFile(lines);
    await file.sync();
    await file.utimes(new Date(at), new Date(at));
  } finally {
    await file.close();
  }
}

function wholeLines(text: string): string {
  return text.slice(0, text.lastIndexOf('\n') + 1);
}
