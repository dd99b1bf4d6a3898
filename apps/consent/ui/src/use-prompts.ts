import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { PromptView } from '#domain/audit/views';
import { api, CallFailed } from './api.ts';
import { nowMs } from './clock.ts';
import { type Note, withNote } from './notes.tsx';
import { EMPTY_BOOK, isOpen, noted, type PromptBook, reread } from './prompt-book.ts';
import { type Connection, listen } from './stream.ts';

const PAGE = 100;
/** The page lists so many open questions; whoever has more has another problem. */
const MAX_PAGES = 5;
const CLOSED_AT_FIRST = 30;

export interface Prompts {
  readonly book: PromptBook;
  readonly connection: Connection;
  /** False until the lists were read once. */
  readonly loaded: boolean;
  readonly failure: CallFailed | null;
  /** Where older history goes on; null = nothing older. */
  readonly older: string | null;
  /** What the stream told last, for screen readers. */
  readonly told: string;
  readonly notes: readonly Note[];
  /** Takes in what a call told of a question. */
  readonly take: (prompt: PromptView) => void;
  /** The same, for what became of an answer that was given here. */
  readonly tell: (note: Note) => void;
  readonly dismiss: (note: Note) => void;
  readonly loadOlder: () => Promise<void>;
}

/** The questions of the deployment, live: lists when the line opens, then whatever the stream says. */
export function usePrompts(): Prompts {
  const [book, setBook] = useState<PromptBook>(EMPTY_BOOK);
  const [connection, setConnection] = useState<Connection>('connecting');
  const [loaded, setLoaded] = useState(false);
  const [failure, setFailure] = useState<CallFailed | null>(null);
  const [older, setOlder] = useState<string | null>(null);
  const [told, setTold] = useState('');
  const [notes, setNotes] = useState<readonly Note[]>([]);
  const current = useRef(book);
  const heard = useRef(new Set<string>());
  const turn = useRef(0);

  const change = useCallback((next: PromptBook) => {
    current.current = next;
    setBook(next);
  }, []);
  const take = useCallback((prompt: PromptView) => change(noted(current.current, prompt)), [change]);
  const tell = useCallback(
    (note: Note) => {
      take(note.prompt);
      setNotes((before) => withNote(before, note));
    },
    [take],
  );
  const dismiss = useCallback((note: Note) => setNotes((all) => all.filter((other) => other !== note)), []);

  const readLists = useCallback(async () => {
    turn.current += 1;
    const mine = turn.current;
    heard.current = new Set();
    try {
      const [open, closed] = await Promise.all([allOpen(), api.prompts('closed', CLOSED_AT_FIRST, null)]);
      if (mine !== turn.current) return;
      change(reread(current.current, [...open, ...closed.prompts], heard.current));
      setOlder((before) => before ?? closed.next);
      setFailure(null);
      setLoaded(true);
    } catch (error) {
      if (mine === turn.current && error instanceof CallFailed) setFailure(error);
    }
  }, [change]);

  useEffect(() => {
    // Not only when the line opens: the questions are there even where no stream can be had.
    void readLists();
    return listen({
      onConnection: (next) => {
        setConnection(next);
        if (next === 'live') void readLists();
      },
      onPrompt: (prompt) => {
        heard.current.add(prompt.originId);
        const known = current.current.get(prompt.originId);
        setTold((before) => tidings(known, prompt) ?? before);
        if (known?.closed === null && prompt.closed !== null) tell({ kind: 'ended', prompt });
        else take(prompt);
      },
    });
  }, [readLists, take, tell]);

  const loadOlder = useCallback(async () => {
    const page = await api.prompts('closed', CLOSED_AT_FIRST, older);
    change(page.prompts.reduce(noted, current.current));
    setOlder(page.next);
  }, [older, change]);

  return { book, connection, loaded, failure, older, told, notes, take, tell, dismiss, loadOlder };
}

async function allOpen(): Promise<readonly PromptView[]> {
  const found: PromptView[] = [];
  let after: string | null = null;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page: { readonly prompts: readonly PromptView[]; readonly next: string | null } = await api.prompts(
      'open',
      PAGE,
      after,
    );
    found.push(...page.prompts);
    after = page.next;
    if (after === null) break;
  }
  return found;
}

/** What a listener must hear; null = nothing that changes what there is to do. */
function tidings(known: PromptView | undefined, heard: PromptView): string | null {
  const about = heard.name ?? 'an allocation';
  if (heard.closed !== null) {
    if (known?.closed !== null && known !== undefined) return null;
    return `The question about ${about} is closed: ${heard.closed.how}.`;
  }
  return known === undefined && isOpen(heard, nowMs()) ? `New question about ${about}. ${heard.asks}` : null;
}
