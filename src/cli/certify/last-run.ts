import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { writeFileAtomic } from "../../files/atomic-write.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { stateFolder } from "../config/folders.ts";
import { readPrivateFile } from "../config/private-file.ts";
import { UsageError } from "../failure.ts";
import type { Host } from "../host.ts";

type Flags = Readonly<Record<string, unknown>>;

/**
 * The flags of the last run in a folder. They are stored with the user's own files, never in the folder: a cloned one
 * must not choose a command that --last runs.
 */
export async function readLastRun(host: Host): Promise<Flags> {
  const found = await readPrivateFile<Flags>(pathOf(host), checkFlags);
  if (found) return found;
  throw new UsageError("--last: no run in this folder", { next: ["webhooks", "certify", "--to", "URL"] });
}

/** A run that cannot be stored is a run all the same. */
export async function storeLastRun(host: Host, flags: Flags): Promise<void> {
  try {
    const path = pathOf(host);
    await makeFolder(dirname(path));
    await writeFileAtomic(path, `${JSON.stringify(flags)}\n`, { mode: 0o600, durable: false });
  } catch {
    // There is no --last, then.
  }
}

const isFlagValue = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isFlagValue) : ["string", "number", "boolean"].includes(typeof value);

const checkFlags = (flags: Flags): string | undefined => {
  const [name] = Object.keys(flags).filter((each) => !isFlagValue(flags[each]));
  return name === undefined ? undefined : `--${name} must be a string, a number, a boolean or a list`;
};

const pathOf = ({ env, cwd }: Host): string =>
  join(stateFolder(env), "certify", `${createHash("sha256").update(cwd).digest("hex").slice(0, 16)}.json`);
