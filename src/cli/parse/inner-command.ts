import type { CommandDeclaration, FlagSpec } from "../../derive/command-spec.ts";
import { formatFlagValue } from "../help/flags.ts";
import { globalFlags } from "./globals.ts";

/** Whether a command runs another one, whose words it leaves as they are. */
export const runsInnerCommand = (declaration: CommandDeclaration): boolean =>
  (declaration as { passthrough?: boolean }).passthrough === true;

/** With `--` before the first word of the command that is to be run: what follows that word is the command's own. */
export function addSeparator(argv: readonly string[], { words, flags }: CommandDeclaration): readonly string[] {
  const takesNext = wordsOfFlags([...globalFlags, ...flags]);
  let bare = 0;
  for (let i = 0; i < argv.length; i += 1) {
    const token = argv[i]!;
    if (token === "--") return argv;
    if (takesNext(token, argv[i + 1])) i += 1;
    else if (!token.startsWith("-") || token === "-") bare += 1;
    if (bare > words.length) return [...argv.slice(0, i), "--", ...argv.slice(i)];
  }
  return argv;
}

/** Whether a word is a flag, and the next one is its value. */
function wordsOfFlags(flags: readonly FlagSpec[]): (token: string, next: string | undefined) => boolean {
  const valued = flags.filter((spec) => formatFlagValue(spec).length > 0);
  return (token, next) => {
    const spec = valued.find(({ flag, short }) => token === `--${flag}` || (short && token === `-${short}`));
    return spec !== undefined && !(spec.optionalValue && (next ?? "-").startsWith("-"));
  };
}
