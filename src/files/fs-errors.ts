import { lookupTable } from "../base/lookup-table.ts";

/** What the system's errors about files mean for a person. */
const reasons = lookupTable<string>({
  EACCES: "permission is denied",
  EPERM: "the system does not allow it",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left on the disk",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would become too large",
  EIO: "the disk reports an error",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open on this machine",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of its path is not a folder",
  ENOENT: "it does not exist",
  ELOOP: "its links form a loop",
  ENAMETOOLONG: "its name is too long",
});

/** What helps where too many files are open: the same wherever it is told. */
export const openFilesRemedies = {
  EMFILE: "Raise the limit (ulimit -n), or close other programs.",
  ENFILE: "Close other programs.",
} as const;

export type FsError = NodeJS.ErrnoException & { readonly code: string };

/** Whether the system refused something, in a way that has words here. */
export const isFsError = (error: unknown): error is FsError =>
  error instanceof Error && reasons[(error as NodeJS.ErrnoException).code ?? ""] !== undefined;

/** `permission is denied` */
export const fsErrorReason = ({ code }: FsError): string => reasons[code]!;

/** `permission is denied (EACCES)` */
export const formatFsError = (refusal: FsError): string => `${fsErrorReason(refusal)} (${refusal.code})`;

/**
 * Why the system refused a file, and which: `permission is denied (EACCES at /data/emulator.json)`. Undefined for an
 * error that is none of its refusals, and for those of sockets and of programs that cannot be started.
 */
export function describeFsError(error: unknown): string | undefined {
  if (!isFsError(error) || !isOfFile(error)) return undefined;
  return error.path === undefined ? formatFsError(error) : `${fsErrorReason(error)} (${error.code} at ${error.path})`;
}

const isOfFile = ({ path, syscall = "" }: FsError): boolean =>
  path === undefined ? callsOfOpenFiles.test(syscall) : !syscall.startsWith("spawn");

const callsOfOpenFiles = /^(?:write|f?datasync|fsync|ftruncate|read)$/;
