import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { OverviewView } from '#domain/audit/views';
import { api, CallFailed } from './api.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { Link, Moment, Name } from './parts.tsx';
import { allocationPath } from './route.ts';
import { counted, plain } from './words.ts';

type Parked = OverviewView['parked'][number];

interface ParkedEventsProps {
  readonly parked: readonly Parked[];
  readonly mayOperate: boolean;
  readonly reload: () => void;
}

interface Asked {
  readonly what: 'requeue' | 'skip';
  readonly event: Parked;
}

/** Events that an app could not deal with: their allocation waits until a person lets it go on. */
export function ParkedEvents({ parked, mayOperate, reload }: ParkedEventsProps): JSX.Element {
  const [asked, setAsked] = useState<Asked | null>(null);
  const [busy, setBusy] = useState(false);
  const [told, setTold] = useState<string | null>(null);

  const send = async ({ what, event }: Asked) => {
    setBusy(true);
    try {
      await api.parked(what, event);
      const did = what === 'requeue' ? 'tries again from' : 'passes over';
      setTold(`${event.consumer} ${did} event ${event.firstPos}.`);
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      setTold(`It was not done. ${error.message}`);
    }
    setBusy(false);
    setAsked(null);
    reload();
  };

  return (
    <section class="panel" aria-labelledby="parked-title">
      <h2 id="parked-title">Parked events</h2>
      <p role="status" class="hint">
        {told}
      </p>
      {parked.length === 0 ? (
        <p class="absent">None: no allocation waits for a person to mend something.</p>
      ) : (
        <ul class="rows rows--flat">
          {parked.map((event) => (
            <li key={`${event.consumer} ${event.ref}`} class="row row--bad">
              <b class="row__main">
                {event.consumer} stopped at event <code>{event.firstPos}</code>
              </b>
              <Link to={allocationPath(event.ref, { kind: 'pos', pos: event.firstPos })}>
                <Name name={event.name} allocationRef={event.ref} />
              </Link>
              <span>
                {plain(event.reason)}, after {counted(event.tries, 'try', 'tries')},{' '}
                <Moment at={event.parkedAt} />
                {event.state === 'parked' ? '.' : `. Asked for: ${plain(event.state)}.`}
              </span>
              {mayOperate ? (
                <span class="row__actions">
                  <button
                    type="button"
                    class="button button--small"
                    onClick={() => setAsked({ what: 'requeue', event })}
                  >
                    Requeue…
                  </button>
                  <button
                    type="button"
                    class="button button--small button--warn"
                    onClick={() => setAsked({ what: 'skip', event })}
                  >
                    Skip…
                  </button>
                </span>
              ) : null}
            </li>
          ))}
        </ul>
      )}
      {parked.length > 0 && !mayOperate ? (
        <p class="hint">Requeue and skip take the right “operate”.</p>
      ) : null}
      {asked === null ? null : (
        <ConfirmDialog
          title={asked.what === 'requeue' ? 'Let it try again?' : 'Pass over this event?'}
          yes={asked.what === 'requeue' ? 'Yes, requeue' : 'Yes, skip it'}
          no="Back"
          danger={asked.what === 'skip'}
          busy={busy}
          onYes={() => void send(asked)}
          onClose={() => setAsked(null)}
        >
          <p>
            {asked.what === 'requeue'
              ? `${asked.event.consumer} tries event ${asked.event.firstPos} again, and goes on with what waits behind it.`
              : `${asked.event.consumer} never deals with event ${asked.event.firstPos}. What should have followed from it does not happen, and that is recorded.`}
          </p>
          <p>
            Allocation <Name name={asked.event.name} allocationRef={asked.event.ref} />
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}
