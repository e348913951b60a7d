import { lookupTable } from "../base/lookup-table.ts";
import { type FsError, openFilesRemedies } from "../files/fs-errors.ts";

const mayNot = "Grant this user the permission, or choose another location.";
const room = "Free some space, or choose a location on another disk.";

const remedies = lookupTable<string>({
  EACCES: mayNot,
  EPERM: mayNot,
  EROFS: "Choose a location on another disk.",
  ENOSPC: room,
  EDQUOT: room,
  EFBIG: "Choose a location on a disk that allows larger files.",
  EIO: "Check the disk, or choose a location on another disk.",
  ...openFilesRemedies,
  EISDIR: "Choose a file.",
  ENOENT: "Create it, or choose another location.",
});

/** What a person can do about what the system refuses. */
export const remedyOf = ({ code }: FsError): string => remedies[code] ?? "Choose another location.";
