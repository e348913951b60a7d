import { readFile } from "node:fs/promises";
import { isObject, tryParseJson } from "../../base/object.ts";
import { CommandFailedError } from "../failure.ts";
import { stripByteOrderMark } from "../parse/body.ts";

/** What is wrong with the content of a file, without a word of it: `profile a must be an object`. */
export type Check = (content: Readonly<Record<string, unknown>>) => string | undefined;

/** The content of a JSON file; undefined when there is none. Exit 2 when it cannot be read, or is of another shape. */
export async function readPrivateFile<T>(path: string, check: Check): Promise<T | undefined> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw new CommandFailedError("usage", "config_unreadable", `Failed to read ${path}: ${error.code}`, {
      cause: error,
    });
  });
  if (text === undefined) return undefined;
  // The parser's message quotes the text, and the text holds secrets.
  const content = tryParseJson(stripByteOrderMark(text));
  const problem = isObject(content) ? check(content) : "the file must contain a JSON object";
  if (problem === undefined) return content as T;
  throw new CommandFailedError("usage", "config_damaged", `Cannot use ${path}: ${problem}.`, {
    hint: "Fix or remove the file.",
  });
}
