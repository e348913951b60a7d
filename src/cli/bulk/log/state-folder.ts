import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeFolder } from "../../../files/make-folder.ts";
import type { Context } from "../../command.ts";
import { stateFolder } from "../../config/folders.ts";
import type { Host } from "../../host.ts";

export const jobsFolder = (host: Host): string => join(stateFolder(host.env), "jobs");

/** A jobs folder that can be written: the usual one or, on a read-only machine, a temporary one that is named. */
export async function writableJobsFolder({ host, output }: Context): Promise<string> {
  let folder: string | undefined;
  try {
    folder = jobsFolder(host);
    await makeFolder(folder);
    return folder;
  } catch (error) {
    const state = await mkdtemp(join(tmpdir(), "svc-state-"));
    const { code, message } = error as NodeJS.ErrnoException;
    const why = folder === undefined ? message : `Cannot write to ${folder} (${code}).`;
    await output.warn(`warning: ${why} The job is stored in ${state}`);
    await output.warn(`To resume it: export SVC_STATE_DIR=${state}`);
    const other = join(state, "jobs");
    await mkdir(other, { mode: 0o700 });
    return other;
  }
}
