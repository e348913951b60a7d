/** Metadata that is stored with the changes of a commit, for a later rewind. */
export interface Moment {
  /** Virtual milliseconds; absent before there is a clock. */
  readonly at?: number | undefined;
  /** Position of the sequence of ids, if ids are not random; the store does not interpret it. */
  readonly ids?: unknown;
}

/** Something that was committed, and led to the present state. */
export interface Commit extends Moment {
  readonly number: number;
  /** The id of its cause; absent where the emulator tidied up. */
  readonly cause?: string | undefined;
}

/** Beginning of the history of the present state. */
export interface HistoryStart extends Moment {
  /** The oldest state that a rewind can restore: that after the line of this number. */
  readonly number: number;
}
