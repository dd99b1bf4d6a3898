import type { JSX } from 'preact';
import type { PromptView } from '#domain/audit/views';
import { Link, Moment, Name } from './parts.tsx';
import { questionPath } from './route.ts';
import { instant, plain } from './words.ts';

/**
 * What became of a question that this window showed: `answered` here, `late` = somebody else was first, `ended`
 * without this window's doing.
 */
export interface Note {
  readonly kind: 'answered' | 'late' | 'ended';
  readonly prompt: PromptView;
}

const MAX_NOTES = 4;

/** One note a question, the newest first. What this window did is not told again when the stream tells it. */
export function withNote(notes: readonly Note[], note: Note): readonly Note[] {
  const known = notes.find(({ prompt }) => prompt.originId === note.prompt.originId);
  if (known !== undefined && note.kind === 'ended') return notes;
  return [note, ...notes.filter((other) => other !== known)].slice(0, MAX_NOTES);
}

interface NotesProps {
  readonly notes: readonly Note[];
  readonly dismiss: (note: Note) => void;
}

/** Above the questions, until they are put away. */
export function Notes({ notes, dismiss }: NotesProps): JSX.Element {
  return (
    <div class="notes" role="status">
      {notes.map((note) => (
        <div key={note.prompt.originId} class={`notice notice--${note.kind === 'late' ? 'late' : 'calm'}`}>
          <p>
            <Told note={note} />
          </p>
          <Link to={questionPath(note.prompt.id)} class="button button--small">
            Show
          </Link>
          <button type="button" class="button button--small" onClick={() => dismiss(note)}>
            Put away
          </button>
        </div>
      ))}
    </div>
  );
}

function Told({ note: { kind, prompt } }: { readonly note: Note }): JSX.Element {
  const { closed } = prompt;
  const name = <Name name={prompt.name} allocationRef={prompt.ref} />;
  if (closed === null) return <>The question about {name} was asked anew. Your answer changed nothing.</>;
  if (kind === 'answered') {
    return (
      <>
        <strong>You {closed.how}</strong> the question about {name}.
      </>
    );
  }
  const by = closed.by === null ? '' : ` by ${closed.by}`;
  return (
    <>
      {kind === 'late' ? <strong>Too late: </strong> : null}
      the question about {name} was {plain(closed.how)}
      {by}, <Moment at={closed.at} /> ({instant(closed.at)}).
      {kind === 'late' ? ' Your answer changed nothing.' : ''}
    </>
  );
}
