import { lookupTable } from "../../../src/base/lookup-table.ts";
import { isRefusal, openFilesRemedies, reasonOf } from "../../../src/files/refusals.ts";
import { StateUnusable, StoreFailed } from "../port.ts";

const room = "Make room, or name a file on another disk with the option file.";
const mayNot =
  "Give this user the right to read and write there, name another file with the option file, or keep nothing with the option ephemeral.";

/** What to do about what the system refuses at a start. */
const remedies = lookupTable<string>({
  ENOSPC: room,
  EDQUOT: room,
  EROFS: "Name a file elsewhere with the option file, or keep nothing with the option ephemeral.",
  EISDIR: "Name a file with the option file.",
  ENOTDIR: "Name a file in a folder with the option file.",
  EEXIST: "Name a file in a folder with the option file.",
  ...openFilesRemedies,
  EACCES: mayNot,
  EPERM: mayNot,
  EIO: "Check the disk, or name a file on another one with the option file.",
});

/** Throws an error of the file system at a start, or what the store made of one, as StateUnusable; any other as it is. */
export function explainUnusable(path: string, error: unknown): never {
  const cause = error instanceof StoreFailed ? (error.cause ?? error) : error;
  const { code = "", path: at } = cause as NodeJS.ErrnoException;
  const remedy = remedies[code];
  if (remedy === undefined) throw error;
  // Its folder cannot be made, for something of that name is there.
  const why = isRefusal(cause) ? reasonOf(cause) : "what should be its folder is a file";
  const where = at === undefined || at === path ? "" : ` (${code} at ${at})`;
  throw new StateUnusable(`The state ${path} cannot be opened: ${why}${where}. ${remedy}`, { cause });
}
