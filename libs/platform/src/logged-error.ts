/** What a log line says about an error: never its message, which may quote a caller or a secret. */
export interface ErrorFields {
  readonly class: string;
  /** Node's, Postgres' or our own code, from the error's `code` or `failure`. */
  readonly code?: string;
  /** Places in the code, innermost first. */
  readonly frames?: readonly string[];
  readonly cause?: ErrorFields;
}

const MAX_CAUSES = 3;
const MAX_FRAMES = 12;

/** The printable part of anything that was thrown. `withFrames` for our own bugs, where the place matters. */
export function fieldsOfError(thrown: unknown, withFrames: boolean, depth = 0): ErrorFields {
  if (!(thrown instanceof Error)) return { class: 'NotAnError' };

  const code = codeOf(thrown);
  const frames = withFrames ? framesOf(thrown) : [];
  return {
    class: classOf(thrown),
    ...(code === null ? {} : { code }),
    ...(frames.length === 0 ? {} : { frames }),
    ...(thrown.cause instanceof Error && depth < MAX_CAUSES
      ? { cause: fieldsOfError(thrown.cause, withFrames, depth + 1) }
      : {}),
  };
}

function classOf(error: Error): string {
  // Not `error.name`: anyone may assign to that.
  const name = error.constructor?.name ?? '';
  return /^[A-Z][A-Za-z0-9]{0,63}$/.test(name) ? name : 'Error';
}

const CODE_FORMS = [/^[A-Z][A-Z0-9_]{1,47}$/, /^[0-9][0-9A-Z]{4}$/, /^[a-z][a-z0-9_-]{1,47}$/];

function codeOf(error: Error): string | null {
  const code = 'code' in error ? error.code : 'failure' in error ? error.failure : null;
  return typeof code === 'string' && CODE_FORMS.some((allowed) => allowed.test(code)) ? code : null;
}

const FRAME = /^ {4}at (?:[\w.$<>[\]#]+(?: [\w.$<>[\]#]+){0,4} \()?(?:file:|node:|\/)[\w./@:+-]*:\d+:\d+\)?$/;

function framesOf(error: Error): readonly string[] {
  const stack = error.stack ?? '';
  const rest = afterMessage(stack, error.message);
  return rest
    .split('\n')
    .filter((line) => FRAME.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim().slice('at '.length));
}

/**
 * The stack begins with the message, and a message may contain lines that look like frames. Where the message
 * cannot be found whole (it was assigned to later), nothing of the stack is trusted.
 */
function afterMessage(stack: string, message: string): string {
  if (message === '') return /^[\w$]+(?: \[\w+\])?\n/.test(stack) ? stack : '';
  const head = /^[\w$]+(?: \[\w+\])?: /.exec(stack)?.[0] ?? '';
  return head !== '' && stack.startsWith(message, head.length)
    ? stack.slice(head.length + message.length)
    : '';
}
