import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { systemDisk } from "../../../src/files/disk.ts";
import { realTarget } from "../../../src/files/real-path.ts";
import { StateRefused, StateUnusable } from "../port.ts";
import { journalGenerations, journalPath } from "./journal/journal-file.ts";

/**
 * The path under which a state is kept, whatever links lead to it. Fails with StateUnusable where a pipe or a device has
 * the name, which a repair would move aside; and with StateRefused where journals lie beside a link: versions that wrote
 * there have left in them what the state itself lacks.
 */
export async function realState(path: string): Promise<string> {
  const real = await realTarget(path);
  const found = await stat(real).catch(() => undefined);
  if (found && !found.isFile() && !found.isDirectory()) {
    throw new StateUnusable(
      `The state ${path} cannot be opened: it is a pipe or a device. Name a file with the option file.`,
    );
  }
  const named = join(await realTarget(dirname(path)), basename(path));
  if (named === real) return real;
  const names = await journalGenerations(systemDisk, named).catch(() => []);
  if (names.length === 0) return real;
  const moves = names.map((one) => `${journalPath(named, one)} to ${journalPath(real, one)}`).join(", ");
  throw new StateRefused(
    `${named} is a link, and an earlier version left journals beside it. Nothing was changed. Move ${moves}.`,
    { repairable: false },
  );
}
