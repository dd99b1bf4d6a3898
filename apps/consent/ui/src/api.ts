import type {
  AllocationList,
  AllocationView,
  AnswerTaken,
  CallerView,
  OverviewView,
  PromptPage,
  PromptView,
} from '#domain/audit/views';
import { noteServerDate } from './clock.ts';

/** Longer than the server waits for a decision. */
const CALL_BOUND_MS = 15_000;

/** A problem body (RFC 9457), as far as the page shows it. */
interface Problem {
  readonly title?: string;
  readonly detail?: string;
  /** With a refused answer: the question as it stands now. */
  readonly prompt?: PromptView;
}

/** A call that did not do what it was asked to; `status` 0 = nobody answered. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed';

  constructor(
    readonly status: number,
    readonly problem: Problem,
    options?: ErrorOptions,
  ) {
    super(problem.detail ?? problem.title ?? `The server answered ${status}.`, options);
  }
}

/** The calls of the page; each rejects with CallFailed. */
export const api = {
  me: (): Promise<CallerView> => call('/api/me'),
  prompts: (state: 'open' | 'closed', limit: number, after: string | null): Promise<PromptPage> =>
    call(`/api/prompts?${query({ state, limit: String(limit), after })}`),
  prompt: (id: string): Promise<PromptView> => call(`/api/prompts/${encodeURIComponent(id)}`),
  /** Sent again with the same `answerId` it is the same answer, and gives the same result. */
  answer: (id: string, accept: boolean, answerId: string): Promise<AnswerTaken> =>
    call(`/api/prompts/${encodeURIComponent(id)}/answer`, { accept }, { 'idempotency-key': answerId }),
  overview: (): Promise<OverviewView> => call('/api/audit/overview'),
  allocations: (
    filters: ReadonlyMap<string, string>,
    limit: number,
    after: string | null,
  ): Promise<AllocationList> =>
    call(`/api/audit/allocations?${query({ ...Object.fromEntries(filters), limit: String(limit), after })}`),
  allocation: (ref: string, before: number | null): Promise<AllocationView> =>
    call(
      `/api/audit/allocations/${encodeURIComponent(ref)}?${query({ before: before === null ? null : String(before) })}`,
    ),
  parked: (what: 'requeue' | 'skip', event: ParkedEvent): Promise<unknown> =>
    call(`/api/parked/${what}`, {
      consumer: event.consumer,
      ref: event.ref,
      first_pos: event.firstPos,
    }),
};

export type ParkedEvent = Pick<OverviewView['parked'][number], 'consumer' | 'ref' | 'firstPos'>;

type Headers = Readonly<Record<string, string>>;

/** `body` given = POST. The type is the contract that page and server share: they are built together. */
async function call<Answer>(path: string, body?: object, headers?: Headers): Promise<Answer> {
  const response = await sent(path, body, headers);
  noteServerDate(response.headers.get('date'));
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new CallFailed(response.status, answer ?? {});
  if (answer === null) throw new CallFailed(response.status, { detail: 'The answer could not be read.' });
  return answer;
}

async function sent(path: string, body: object | undefined, headers: Headers = {}): Promise<Response> {
  const signal = AbortSignal.timeout(CALL_BOUND_MS);
  try {
    if (body === undefined) return await fetch(path, { signal, headers: { accept: 'application/json' } });
    return await fetch(path, {
      signal,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
    });
  } catch (error) {
    throw new CallFailed(0, { detail: 'The server cannot be reached.' }, { cause: error });
  }
}

function query(members: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(members).flatMap(([name, value]): [string, string][] =>
    value === null || value === '' ? [] : [[name, value]],
  );
  return new URLSearchParams(given).toString();
}
