import { lookupTable } from "../../../src/base/lookup-table.ts";
import { StateUnusable } from "../port.ts";

/** What the system's errors at a start mean for a person, and what to do. */
const meanings = lookupTable<readonly [why: string, next: string]>({
  ENOSPC: ["no space is left on the disk", "Make room, or name a file on another disk with --file."],
  EDQUOT: ["the disk quota is used up", "Make room, or name a file on another disk with --file."],
  EROFS: ["the file system is read-only", "Name a file elsewhere with --file, or keep nothing with --ephemeral."],
  EISDIR: ["it is a folder", "Name a file with --file."],
  ENOTDIR: ["what should be its folder is a file", "Name a file in a folder with --file."],
  EEXIST: ["what should be its folder is a file", "Name a file in a folder with --file."],
  EMFILE: ["too many files are open", "Raise the limit (ulimit -n), or close what holds them open."],
  ENFILE: ["too many files are open on this machine", "Close what holds them open."],
  EACCES: [
    "permission is denied",
    "Give this user the right to read and write there, name another file with --file, or keep nothing with --ephemeral.",
  ],
  EPERM: [
    "the system does not permit it",
    "Give this user the right to read and write there, name another file with --file, or keep nothing with --ephemeral.",
  ],
  EIO: ["the disk fails", "Check the disk, or name a file on another one with --file."],
});

/** For people: why the system refused a file, and of which; undefined for an error that is none of its refusals. */
export function whyRefused(error: unknown): string | undefined {
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  const [why] = meanings[code ?? ""] ?? [];
  // Those of sockets tell no path either.
  if (why === undefined || (path === undefined && !callsOfFiles.test(syscall ?? ""))) return undefined;
  return `${why} (${path === undefined ? code : `${code} at ${path}`})`;
}

const callsOfFiles = /^(?:write|f?datasync|fsync|ftruncate|read)$/;

/** Throws an error of the file system at a start as StateUnusable; any other as it is. */
export function explainUnusable(path: string, cause: unknown): never {
  const { code, path: at } = cause as NodeJS.ErrnoException;
  const [why, next] = meanings[code ?? ""] ?? [];
  if (why === undefined) throw cause;
  const where = at === undefined || at === path ? "" : ` (${code} at ${at})`;
  throw new StateUnusable(`The state ${path} cannot be opened: ${why}${where}. ${next}`, { cause });
}
