import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

interface ConfirmDialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Absent = there is nothing to confirm (any more), only to close. */
  readonly yes?: string;
  readonly no: string;
  readonly busy?: boolean;
  readonly danger?: boolean;
  readonly onYes?: () => void;
  readonly onClose: () => void;
}

/** Asks once more. The browser's own modal dialog: focus stays inside, Escape closes, the page below is inert. */
export function ConfirmDialog(props: ConfirmDialogProps): JSX.Element {
  const { title, children, yes, no, busy = false, danger = false, onYes, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // Closed by leaving the view, too: else what had the focus does not get it back.
    return () => element?.close();
  }, []);

  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId}>{title}</h2>
      <div class="dialog__body">{children}</div>
      <div class="dialog__actions">
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          {no}
        </button>
        {yes === undefined ? null : (
          <button
            type="button"
            class={`button ${danger ? 'button--danger' : 'button--yes'}`}
            disabled={busy}
            onClick={onYes}
          >
            {busy ? 'Sending…' : yes}
          </button>
        )}
      </div>
    </dialog>
  );
}
