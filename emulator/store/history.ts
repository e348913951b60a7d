/** What is written down next to the changes of a commit, for whoever wants to go back to it. */
export interface Moment {
  /** Virtual milliseconds; absent before there is a clock. */
  readonly at?: number | undefined;
  /** Where the sequence of ids stood, where ids are not random; means nothing to the store. */
  readonly ids?: unknown;
}

/** Something that was committed, and led to the present state. */
export interface Commit extends Moment {
  readonly number: number;
  /** The id of its cause; absent where the emulator tidied up. */
  readonly cause?: string | undefined;
}

/** Where the history of the present state begins. */
export interface HistoryStart extends Moment {
  /** Of the oldest state that can be gone back to: that after the line of this number. */
  readonly number: number;
}
