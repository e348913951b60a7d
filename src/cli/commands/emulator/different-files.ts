import { resolveRealPath } from "../../../files/real-path.ts";
import { UsageError } from "../../failure.ts";

/** Refuses one file for two things, whatever links lead to it: each would overwrite the other. Throws UsageError. */
export async function requireDifferentFiles(files: Readonly<Record<string, string | undefined>>): Promise<void> {
  const flagAt = new Map<string, string>();
  for (const [flag, path] of Object.entries(files)) {
    if (path === undefined) continue;
    const real = await resolveRealPath(path);
    const other = flagAt.get(real);
    if (other !== undefined) throw new UsageError(`${flag} and ${other} must be different files, got "${path}" twice`);
    flagAt.set(real, flag);
  }
}
