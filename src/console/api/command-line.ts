import { fieldsOf } from "../../base/object.ts";
import type { AnyInput, Outline } from "./operations.ts";

/** The command that does the same as a call, as a POSIX shell reads it: `svc emulator clock advance --by PT5M`. */
export function commandLine(outline: Outline, input: AnyInput = {}): string {
  const { command, positionals, flags, confirmed } = outline;
  const params = fieldsOf(input.params);
  const words = positionals.map((name) => quoted(String(params[name] ?? "")));
  const given = (["query", "body"] as const).flatMap((place) =>
    Object.entries(fieldsOf(input[place])).flatMap(([name, value]) =>
      value === undefined ? [] : flagWords(flags[`${place}.${name}`], name, value),
    ),
  );
  return ["svc", command, ...words, ...given, ...(confirmed ? ["--yes"] : [])].join(" ");
}

function flagWords(flag: string | undefined, name: string, value: unknown): string[] {
  if (flag === undefined) return ["--set", quoted(`${name}=${JSON.stringify(value)}`)];
  if (value === true) return [`--${flag}`];
  if (value === false) return [`--no-${flag}`];
  return [`--${flag}`, quoted(String(value))];
}

/** A word for a shell: in single quotes where it holds anything that a shell would read. */
export const quoted = (word: string): string =>
  /^[\w/:=.,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
