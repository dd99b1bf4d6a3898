/** Told how much is done, in positions of the log. */
export type Progress = (done: number, of: number) => void;
