import { lstat } from "node:fs/promises";
import { isMissing } from "../../../src/files/disk.ts";

/** What has become of files that one process alone writes: they are gone, or others have their names. */
export interface Disturbance {
  readonly path: string;
  readonly isGone: boolean;
}

/** Which files on the disk those of a state are, so that it is noticed when somebody removes or replaces one. */
export class OwnFiles {
  #known = new Map<string, string>();

  /**
   * Looks at all of them, each by a name that no other one gets; one that is looked at for the first time is ours. The file
   * called `unchanging` is compared by its time and size as well: a copy that is written over it keeps its inode.
   */
  async look(files: Readonly<Record<string, string>>, unchanging: string): Promise<Disturbance | undefined> {
    const found = new Map<string, string>();
    for (const [name, path] of Object.entries(files)) {
      const identity = await identityOf(path, name === unchanging);
      if (identity === undefined) return { path, isGone: true };
      if (identity !== (this.#known.get(name) ?? identity)) return { path, isGone: false };
      found.set(name, identity);
    }
    this.#known = found;
    return undefined;
  }
}

async function identityOf(path: string, isUnchanging: boolean): Promise<string | undefined> {
  try {
    const { dev, ino, size, mtimeMs } = await lstat(path);
    return isUnchanging ? `${dev}:${ino}:${size}:${mtimeMs}` : `${dev}:${ino}`;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
