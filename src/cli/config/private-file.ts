import { readFile } from "node:fs/promises";
import { CommandFailedError } from "../failure.ts";
import { stripByteOrderMark } from "../parse/body.ts";

/** The content of a JSON file; undefined when there is none. Exit 2 when it cannot be read. */
export async function readPrivateFile<T>(path: string): Promise<T | undefined> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw new CommandFailedError("usage", "config_unreadable", `Failed to read ${path}: ${error.code}`, {
      cause: error,
    });
  });
  if (text === undefined) return undefined;
  try {
    const content = JSON.parse(stripByteOrderMark(text)) as T;
    if (typeof content === "object" && content !== null && !Array.isArray(content)) return content;
  } catch {
    // The parser's message quotes the text, and the text holds secrets.
  }
  throw new CommandFailedError("usage", "config_damaged", `${path} is not a JSON object. Fix or remove it.`);
}
