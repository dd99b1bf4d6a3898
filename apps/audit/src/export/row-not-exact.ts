/** A row cannot be told in this form without loss; nothing of it is quoted. */
export class RowNotExact extends Error {
  override readonly name = 'RowNotExact';

  constructor(readonly pos: number) {
    super(`the row at ${pos} has no exact CloudEvents form: its body is no canonical JSON`);
  }
}
