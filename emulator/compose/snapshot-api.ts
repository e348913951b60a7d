import { rewind, saveSnapshot } from "../../src/api/emulator/snapshots.ts";
import { splitAtLineEnds } from "../../src/files/append-log.ts";
import type { Emulator, Rewind } from "../published.d.ts";
import type { RewindTarget } from "../travel/rewind.ts";
import type { Snapshots } from "../travel/snapshots.ts";
import { InvalidOptionsError } from "./options.ts";

export { InvalidSnapshotError, SnapshotExistsError, SnapshotNotFoundError } from "../travel/replace-state.ts";
/** Errors of these functions. */
export { HistoryUnavailableError, RewindOutOfRangeError, RewindTargetInFutureError } from "../travel/rewind.ts";

type StartCopy = (document: AsyncIterable<Uint8Array>) => Promise<Emulator>;

/** The default names of snapshots. */
const givenName = /^snapshot-(\d+)$/i;

/** Functions with which a program saves and restores states, and starts another emulator with the present one. */
export function createSnapshotApi(
  snapshots: () => Snapshots,
  startCopy: StartCopy,
): Pick<Emulator, "snapshot" | "restore" | "rewind" | "fork"> {
  let last = 0;

  async function nextName(): Promise<string> {
    const numbers = (await snapshots().list()).map(({ name }) => Number(givenName.exec(name)?.[1] ?? 0));
    last = 1 + Math.max(last, ...numbers);
    return `snapshot-${last}`;
  }

  return {
    async snapshot(name, options) {
      const { at, ...saved } = await snapshots().save(
        name === undefined ? await nextName() : checkSnapshotName(name),
        options,
      );
      return { name: saved.name, at: at! };
    },
    async restore(snapshot) {
      const { backupSnapshot } = await snapshots().restore(typeof snapshot === "string" ? snapshot : snapshot.name);
      return { backupSnapshot };
    },
    async rewind(target) {
      const { backupSnapshot } = await snapshots().rewind(parseRewindTarget(target));
      return { backupSnapshot };
    },
    fork: async () => startCopy(splitAtLineEnds(await snapshots().exportPresent("fork"))),
  };
}

/** Throws InvalidOptionsError for a name that the control plane would reject. */
function parseRewindTarget(target: Rewind): RewindTarget {
  const to = "to" in target && typeof target.to === "number" ? new Date(target.to).toISOString() : undefined;
  const { data, error } = rewind.request.body.schema.safeParse(to === undefined ? target : { to });
  if (!data) throw new InvalidOptionsError(`emulator.rewind: ${error.issues.map(({ message }) => message).join("; ")}`);
  if (data.to !== undefined) return { to: Date.parse(data.to) };
  return data.before === undefined ? { steps: data.steps ?? 0 } : { before: data.before };
}

function checkSnapshotName(name: string): string {
  const { error } = saveSnapshot.request.params.safeParse({ name });
  if (error)
    throw new InvalidOptionsError(`emulator.snapshot: ${error.issues.map(({ message }) => message).join("; ")}`);
  return name;
}
