import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { CallerView } from '#domain/audit/views';
import type { Prompts } from './use-prompts.ts';

/** What every view may ask for: who looks, and the questions. */
export interface PageContext {
  readonly caller: CallerView;
  readonly prompts: Prompts;
}

const Context = createContext<PageContext | null>(null);

/** Gives the context to the views below it. */
export const PageProvider = Context.Provider;

/** Throws outside of a PageProvider. */
export function usePage(): PageContext {
  const context = useContext(Context);
  if (context === null) throw new Error('usePage is for what is shown inside the page.');
  return context;
}
