import { isSwitchedOn } from "../process/environment.ts";
import type { Host, OutputStream } from "../process/host.ts";

export type StyleName = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Part of a line with a style. Without colors, only the text is printed. */
export interface StyledText {
  readonly style: StyleName;
  readonly text: string;
}

/** Line for users, without its line break. The printer escapes its content. */
export type StyledLine = string | readonly (string | StyledText)[];

const createStyle =
  (name: StyleName) =>
  (text: string): StyledText => ({ style: name, text });

export const bold = createStyle("bold");
export const dim = createStyle("dim");
export const red = createStyle("red");
export const green = createStyle("green");
export const yellow = createStyle("yellow");
export const cyan = createStyle("cyan");

export const stripStyles = (line: StyledLine): string =>
  typeof line === "string" ? line : line.map((piece) => (typeof piece === "string" ? piece : piece.text)).join("");

/** Reports whether a stream gets colors. svc decides this once per stream (DECISIONS.md, L4). */
export function hasColour(stream: OutputStream, flag: boolean | undefined, env: Host["env"]): boolean {
  if (flag !== undefined) return flag;
  // Any value of NO_COLOR disables colors, as its specification says.
  if (isSwitchedOn(env.SVC_NO_COLOR) || env.NO_COLOR) return false;
  if (isSwitchedOn(env.FORCE_COLOR) || isSwitchedOn(env.CLICOLOR_FORCE)) return true;
  if (env.FORCE_COLOR) return false;
  return env.TERM !== "dumb" && stream.isTTY === true;
}

const styles = [
  [green, /^(?:active|delivered|done|executed|completed?|authorized|signed|approved|published|ok|running|true)$/],
  [
    red,
    /^(?:failed|disabled_by_error|declined|rejected|denied|voided?|expired|interrupted|bounced|false|will_be_skipped|address_not_allowed|disabled)$/,
  ],
  [
    yellow,
    /^(?:retrying|waiting|pending|warning|partial|disabled_by_user|disabled_by_a_user|failing|enabled_again|on_hold|redlining|review|sign)$/,
  ],
  [dim, /^(?:skipped.*|draft|deleted|archived|gone|not_sent.*)$/],
] as const;

/** Colors the name of a state: success, failure, in progress or inactive. Other words stay unchanged. */
export function styleState(text: string): StyledText | string {
  const word = text.toLowerCase().replaceAll(" ", "_");
  const match = styles.find(([, words]) => words.test(word));
  return match ? match[0](text) : text;
}

/** Colors the status of an HTTP response. 0 means no response. */
export function styleStatus(status: number, text = String(status)): StyledText {
  if (status >= 500 || status === 0) return red(text);
  if (status >= 400) return yellow(text);
  return status >= 300 ? cyan(text) : green(text);
}
