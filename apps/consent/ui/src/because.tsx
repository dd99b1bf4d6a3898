import type { JSX } from 'preact';
import type { PromptView } from '#domain/audit/views';

/** Reasons of a decision: the short ones at once, lists of facts and of rules that did not fire when asked for. */
export function Because({ lines }: { readonly lines: PromptView['why']['lines'] }): JSX.Element | null {
  if (lines.length === 0) return null;
  return (
    <ul class="because">
      {lines.map((line) => {
        const parts = partsOf(line.code);
        return (
          <li key={line.code}>
            {parts === null ? (
              <>
                {line.text} <code>{line.code}</code>
              </>
            ) : (
              <details>
                <summary>{line.text}</summary>
                <ul class="parts">
                  {parts.map((part) => (
                    <li key={part}>
                      <code>{part}</code>
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </li>
        );
      })}
    </ul>
  );
}

const LISTS = ['facts:', 'not_fired:'];

/** The members of a code that is a list; null = it is none. */
function partsOf(code: string): readonly string[] | null {
  const prefix = LISTS.find((list) => code.startsWith(list));
  return prefix === undefined ? null : code.slice(prefix.length).split(', ');
}
