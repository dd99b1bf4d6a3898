import type { DeadLetters } from '#domain/log-tables';
import { isPassing } from './handler-failure.ts';
import type { HandleInput, InputMessage } from './inbox.ts';

/** One message, read: what a call by HTTP would have brought. */
export interface InputCall {
  readonly body: unknown;
  readonly messageId: string | null;
  /** Names the message when neither its header nor its body does. */
  readonly queue: { readonly kind: 'queue'; readonly incarnation: string; readonly sequence: number };
}

export type InputAnswer =
  | { readonly kind: 'answered'; readonly body: object }
  | { readonly kind: 'refused'; readonly problem: object };

export interface InputHandlerOptions {
  readonly call: (input: InputCall) => Promise<InputAnswer>;
  /** Reads the body; throws on what is no JSON in UTF-8. */
  readonly parse: (body: Uint8Array) => unknown;
  readonly bodyMaxBytes: number;
  /** Problem bodies for what never gets as far as the call. */
  readonly problems: { readonly malformed: object; readonly tooLarge: object };
  readonly deadLetters: Pick<DeadLetters, 'add'>;
  /** Keyed digests: a dead letter shows that a message came, never what was in it. */
  readonly digest: (kind: 'message-id' | 'message-body', value: unknown) => string;
  /** Wait before a message comes again that the log could not take. */
  readonly retryAfterMs: number;
}

/**
 * The same call as by HTTP, for a message of the work queue (fallback 1.5): its answer is the HTTP body; refused
 * input becomes one dead-letter row before it is acknowledged; what the log could not take comes again.
 */
export function inputHandler(options: InputHandlerOptions): HandleInput {
  return async (message) => {
    try {
      const answer = await answerTo(message, options);
      if (answer.kind === 'answered') return { kind: 'done', answer: answer.body };
      await options.deadLetters.add(deadLetterOf(message, answer.problem, options));
      return { kind: 'refused', problem: answer.problem };
    } catch (error) {
      if (!isPassing(error)) throw error;
      return { kind: 'retry', afterMs: options.retryAfterMs };
    }
  };
}

async function answerTo(message: InputMessage, options: InputHandlerOptions): Promise<InputAnswer> {
  const { problems, bodyMaxBytes, parse, call } = options;
  if (message.body.length > bodyMaxBytes) return { kind: 'refused', problem: problems.tooLarge };
  let body: unknown;
  try {
    body = parse(message.body);
  } catch {
    return { kind: 'refused', problem: problems.malformed };
  }
  const { incarnation, sequence, messageId } = message;
  return call({ body, messageId, queue: { kind: 'queue', incarnation, sequence } });
}

function deadLetterOf(message: InputMessage, problem: object, { digest }: InputHandlerOptions) {
  const { incarnation, sequence, messageId, body } = message;
  return {
    // Of the place in the queue, so that a redelivered refusal is one row.
    id: digest('message-id', { incarnation, sequence }),
    subject: message.subject,
    idDigest: messageId === null ? null : digest('message-id', messageId),
    bodyDigest: digest('message-body', Buffer.from(body).toString('base64')),
    sizeBytes: body.length,
    problem: JSON.stringify(problem),
  };
}
