import { cyan, dim, green, red, type StyledText, yellow } from "./styled.ts";

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

/** A word for a state in its colour: good, bad, under way, of no interest. Others stay as they are. */
export function styleState(text: string): StyledText | string {
  const word = text.toLowerCase().replaceAll(" ", "_");
  const found = styles.find(([, words]) => words.test(word));
  return found ? found[0](text) : text;
}

/** The status of an HTTP answer in its colour; 0 where none came. */
export function styleStatus(status: number, text = String(status)): StyledText {
  if (status >= 500 || status === 0) return red(text);
  if (status >= 400) return yellow(text);
  return status >= 300 ? cyan(text) : green(text);
}
