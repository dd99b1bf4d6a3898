import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { CallFailed } from './api.ts';

export interface Called<Answer> {
  /** The newest answer; kept while a later call fails. */
  readonly value: Answer | null;
  readonly failure: CallFailed | null;
  readonly reload: () => void;
}

/**
 * What a call answers: asked anew whenever `key` changes, on `reload`, and every `everyMs` while somebody looks.
 * An answer that was overtaken by a later question is dropped.
 */
export function useCall<Answer>(key: string, ask: () => Promise<Answer>, everyMs?: number): Called<Answer> {
  const [state, setState] = useState<{ key: string; value: Answer | null; failure: CallFailed | null }>({
    key,
    value: null,
    failure: null,
  });
  const turn = useRef(0);
  const asking = useRef(ask);
  asking.current = ask;

  const reload = useCallback(() => {
    turn.current += 1;
    const mine = turn.current;
    asking.current().then(
      (value) => {
        if (mine === turn.current) setState({ key, value, failure: null });
      },
      (error: unknown) => {
        if (mine !== turn.current) return;
        const failure = error instanceof CallFailed ? error : new CallFailed(0, { detail: String(error) });
        setState((before) => ({ key, value: before.key === key ? before.value : null, failure }));
      },
    );
  }, [key]);

  useEffect(() => {
    reload();
    if (everyMs === undefined) return;
    const again = () => {
      if (!document.hidden) reload();
    };
    const timer = setInterval(again, everyMs);
    document.addEventListener('visibilitychange', again);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', again);
    };
  }, [reload, everyMs]);

  // Until the first answer to a new question the old one must not be taken for it.
  return state.key === key
    ? { value: state.value, failure: state.failure, reload }
    : { value: null, failure: null, reload };
}
