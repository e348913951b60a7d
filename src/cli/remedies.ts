import { lookupTable } from "../base/lookup-table.ts";
import { type FsError, openFilesRemedies } from "../files/fs-errors.ts";

const mayNot = "Give this user the right to, or name another place.";
const room = "Make room, or name a place on another disk.";

const remedies = lookupTable<string>({
  EACCES: mayNot,
  EPERM: mayNot,
  EROFS: "Name a place on another disk.",
  ENOSPC: room,
  EDQUOT: room,
  EFBIG: "Name a place on a disk that takes larger files.",
  EIO: "Check the disk, or name a place on another one.",
  ...openFilesRemedies,
  EISDIR: "Name a file.",
  ENOENT: "Create it, or name another place.",
});

/** What a person can do about what the system refuses. */
export const remedyOf = ({ code }: FsError): string => remedies[code] ?? "Name another place.";
