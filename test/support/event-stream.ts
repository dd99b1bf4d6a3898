import { waitUntil } from '../../tools/up/infra/chain.ts';

/** One server-sent event, with when it came in by this process's monotonic milliseconds. */
export interface StreamEvent {
  readonly type: string;
  readonly id: string | null;
  readonly data: unknown;
  readonly atMs: number;
}

/** A page's connection as a browser keeps one, for reading what came. */
export interface EventStream {
  readonly status: number;
  readonly headers: Headers;
  readonly events: readonly StreamEvent[];
  /** True once the other side ended it. */
  readonly ended: boolean;
  /** The first event that is meant, among those that came and those that will. */
  where(what: string, isMeant: (event: StreamEvent) => boolean): Promise<StreamEvent>;
  close(): Promise<void>;
}

const BOUND_MS = 30_000;

export async function openStream(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventStream> {
  const gone = new AbortController();
  const response = await fetch(url, { headers, signal: gone.signal });
  const events: StreamEvent[] = [];
  const state = { ended: false };
  const reading = read(response, events).finally(() => {
    state.ended = true;
  });
  return {
    status: response.status,
    headers: response.headers,
    events,
    get ended() {
      return state.ended;
    },
    where: async (what, isMeant) => {
      await waitUntil(what, BOUND_MS, () => events.some(isMeant), 10);
      const found = events.find(isMeant);
      if (found === undefined) throw new Error(`${what}: no such event`);
      return found;
    },
    close: async () => {
      gone.abort();
      await reading;
    },
  };
}

async function read(response: Response, events: StreamEvent[]): Promise<void> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) events.push(eventOf(block));
    }
  } catch {
    // Closed by us, or by a server that went away: what came is what there is.
  }
}

function eventOf(block: string): StreamEvent {
  const fields = new Map(
    block.split('\n').map((line) => {
      const [name = '', ...rest] = line.split(': ');
      return [name, rest.join(': ')] as const;
    }),
  );
  const data = fields.get('data');
  return {
    type: fields.get('event') ?? 'message',
    id: fields.get('id') ?? null,
    data: data === undefined ? null : JSON.parse(data),
    atMs: performance.now(),
  };
}
