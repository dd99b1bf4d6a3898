import { z } from 'zod';
import { shortened } from '#domain/audit/told';
import type { DeadLetter } from '#domain/log-tables';

/** The problem body as it was stored: codes and pointers of ours only. */
const StoredProblem = z.object({
  title: z.string().optional(),
  status: z.number().optional(),
  errors: z.array(z.object({ pointer: z.string(), code: z.string() })).optional(),
});

/** One dead letter as the cells of a line. */
export function deadLetterCells(letter: DeadLetter): readonly string[] {
  const { at, subject, sizeBytes, bodyDigest, idDigest, problem } = letter;
  return [
    at,
    subject,
    String(sizeBytes),
    shortened(bodyDigest),
    idDigest === null ? '-' : shortened(idDigest),
    reasonOf(problem),
  ];
}

function reasonOf(text: string): string {
  const { title = 'unknown', status, errors = [] } = parsed(text);
  const members = errors.map(({ pointer, code }) => `${pointer} ${code}`).join(', ');
  return [status, title, members && `(${members})`].filter(Boolean).join(' ');
}

function parsed(text: string): z.output<typeof StoredProblem> {
  try {
    return StoredProblem.parse(JSON.parse(text));
  } catch {
    return {};
  }
}
