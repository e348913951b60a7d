import { lookupTable } from "../base/lookup-table.ts";

const mayNot = "Give this user the right to, or name another place.";
const room = "Make room, or name a place on another disk.";

/** What the system's errors about files mean for a person, and what to do. */
const meanings = lookupTable<readonly [why: string, next: string]>({
  EACCES: ["permission is denied", mayNot],
  EPERM: ["the system does not permit it", mayNot],
  EROFS: ["the disk is read-only", "Name a place on another disk."],
  ENOSPC: ["no space is left on the disk", room],
  EDQUOT: ["the disk quota is used up", room],
  EFBIG: ["the file would become too large", "Name a place on a disk that takes larger files."],
  EIO: ["the disk fails", "Check the disk, or name a place on another one."],
  EMFILE: ["too many files are open", "Raise the limit (ulimit -n), or close what holds them open."],
  ENFILE: ["too many files are open on this machine", "Close what holds them open."],
  EISDIR: ["it is a folder", "Name a file."],
  ENOTDIR: ["a part of its path is no folder", "Name another place."],
  ENOENT: ["there is no such folder or file", "Create it, or name another place."],
  ELOOP: ["its links lead in a circle", "Name another place."],
  ENAMETOOLONG: ["its name is too long", "Name another place."],
});

export type SystemTrouble = NodeJS.ErrnoException & { readonly code: string };

/** Whether the system refused something about a file, in a way that has words here. */
export const isSystemTrouble = (error: unknown): error is SystemTrouble =>
  error instanceof Error && meanings[(error as NodeJS.ErrnoException).code ?? ""] !== undefined;

/** `permission is denied (EACCES)` */
export const whyOf = ({ code }: SystemTrouble): string => `${meanings[code]![0]} (${code})`;

/** What a person can do about it. */
export const nextOf = ({ code }: SystemTrouble): string => meanings[code]![1];
