export type StyleName = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** A piece of a line in one of our styles; without colours it is the text alone. */
export interface StyledText {
  readonly style: StyleName;
  readonly text: string;
}

/** One line for people, without its line break. Whatever stands in it is made harmless where it is printed. */
export type StyledLine = string | readonly (string | StyledText)[];

const style =
  (name: StyleName) =>
  (text: string): StyledText => ({ style: name, text });

export const bold = style("bold");
export const dim = style("dim");
export const red = style("red");
export const green = style("green");
export const yellow = style("yellow");
export const cyan = style("cyan");

/** The text of a line, without its styles. */
export const stripStyles = (line: StyledLine): string =>
  typeof line === "string" ? line : line.map((piece) => (typeof piece === "string" ? piece : piece.text)).join("");
