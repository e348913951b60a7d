/** Rows that follow each other, numbered as an editor numbers lines; an empty text is a line that is passed over. */
export interface RowGroup {
  /** Number of the first. */
  readonly first: number;
  readonly texts: readonly string[];
  /** Why a row has no text, by its place in the group. */
  readonly problems?: ReadonlyMap<number, string>;
  /** Places of the rows in which nothing stands where a text should. */
  readonly empty?: ReadonlySet<number>;
}

/** Why a row has no text; `isEmpty`: nothing stands where it should. */
export interface MissingText {
  readonly problem: string;
  readonly isEmpty?: boolean;
}
