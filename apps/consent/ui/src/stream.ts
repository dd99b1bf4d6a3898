import type { PromptView } from '#domain/audit/views';

/** `lost`: nothing is heard; it tries again by itself. */
export type Connection = 'connecting' | 'live' | 'lost';

export interface StreamListener {
  readonly onPrompt: (prompt: PromptView) => void;
  readonly onConnection: (connection: Connection) => void;
}

const PATH = '/api/prompts/stream';
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
/** The server pings every 15 s: two missed and one on its way is a dead line. */
const SILENCE_MS = 40_000;

/**
 * Listens to the server's events until it is told to stop. EventSource alone gives up for good at an answer such
 * as 502, which is what a restart behind a proxy looks like, and never notices a line that died silently.
 */
export function listen({ onPrompt, onConnection }: StreamListener): () => void {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waitMs = FIRST_WAIT_MS;

  const open = () => {
    clearTimeout(timer);
    source?.close();
    const opened = new EventSource(PATH);
    source = opened;
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(lose, SILENCE_MS);
    };
    opened.addEventListener('open', () => {
      waitMs = FIRST_WAIT_MS;
      alive();
      onConnection('live');
    });
    opened.addEventListener('ping', alive);
    opened.addEventListener('prompt', (event) => {
      alive();
      onPrompt(JSON.parse(event.data));
    });
    opened.addEventListener('error', lose);
    // An attempt that is neither accepted nor refused is a dead line too.
    timer = setTimeout(lose, SILENCE_MS);
  };
  const lose = () => {
    source?.close();
    clearTimeout(timer);
    onConnection('lost');
    timer = setTimeout(open, waitMs);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  };
  const hurry = () => {
    if (document.hidden || source?.readyState === EventSource.OPEN) return;
    waitMs = FIRST_WAIT_MS;
    open();
  };

  addEventListener('online', hurry);
  document.addEventListener('visibilitychange', hurry);
  onConnection('connecting');
  open();
  return () => {
    removeEventListener('online', hurry);
    document.removeEventListener('visibilitychange', hurry);
    clearTimeout(timer);
    source?.close();
  };
}
