import { groups } from "./groups.ts";
import type { Host } from "./host.ts";

/** What a person types to run this program once more: what npx has run, no shell finds by its name. */
export function programName({ env }: Pick<Host, "env">): string {
  const [, name] =
    (env.npm_lifecycle_event === "npx" && /^'?(svc(?:-toolkit)?)'?(?: |$)/.exec(env.npm_lifecycle_script ?? "")) || [];
  return name === undefined ? "svc" : `npx ${name}`;
}

/**
 * Rewrites the commands in what people read to what they have to type. Everywhere else a command is written with `svc`;
 * this stands where text leaves the program: at its streams, and before a page of help is laid out.
 */
export function asCalled(host: Pick<Host, "env">): (text: string) => string {
  const program = programName(host);
  if (program === "svc") return (text) => text;
  return (text) =>
    text.replace(/(?<![\w./-]|npx )svc (<|--|[a-z][a-z-]*)/g, (found, next: string) =>
      mayFollow(next) ? `${program} ${next}` : found,
    );
}

/** In prose the program is a name like any other; in a command one of these stands behind it. */
const mayFollow = (word: string): boolean =>
  Object.hasOwn(groups, word) || ["<", "--", "help", "version"].includes(word);
