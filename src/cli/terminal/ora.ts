import ora from "ora";
import type { Host } from "../host.ts";
import { hasColour } from "../output/colour.ts";
import { visible } from "../output/visible.ts";
import { everWide } from "./wide.ts";

/** Starts a spinner on standard error; callers have checked that something may move there. */
export function spinner(text: string, { stderr, env }: Host): { stop(): void } {
  const isUnicode = /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || "");
  return ora({
    text: visible(text),
    stream: everWide(stderr) as unknown as NodeJS.WritableStream,
    spinner: isUnicode ? "dots" : "line",
    color: hasColour(stderr, undefined, env) ? "cyan" : false,
    isEnabled: true,
    // Standard input belongs to prompts and to Ctrl-C.
    discardStdin: false,
  }).start();
}
