import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is part of the emulator.");

interface RewindOutOfRangeError {
  /** What of it is asked for and not there, as words that follow "the history". */
  readonly lacks: string;
  /** The virtual time that it reaches back to; undefined: the beginning. */
  readonly reach: string | undefined;
  /** How many steps it has, where steps are asked for. */
  readonly steps: number | undefined;
  /** Whether what to go back before is a cause, where one is asked for. */
  readonly isOfCause: boolean;
}

export const snapshotFailures = {
  "no-such-snapshot": control({
    status: 404,
    when: "no snapshot has that name",
    basis: ours,
    code: "no_such_snapshot",
    says: ({ name, known }: { name: string; known: string }) => `Snapshot ${name} not found. Known: ${known}.`,
    hint: "List them with `svc emulator snapshot list`.",
  }),
  "snapshot-there": control({
    status: 409,
    when: "a snapshot has that name, ignoring case, and `replace` is not given",
    basis: ours,
    code: "snapshot_there",
    says: ({ name }: { name: string }) => `Snapshot ${name} already exists.`,
    hint: "Choose another name, or use --replace.",
  }),
  "no-history": control({
    status: 409,
    when: "the emulator has no history: it runs in memory, or with `SVC_HISTORY=0`",
    basis: ours,
    code: "no_history",
    says: "This emulator has no history. It requires a state in a file or a database, and SVC_HISTORY above 0.",
    hint: "Save snapshots with `svc emulator snapshot save NAME`.",
  }),
  "beyond-history": control({
    status: 409,
    when: "the history does not reach back that far, or does not include the cause",
    basis: ours,
    code: "beyond_history",
    says: ({ lacks, reach }: RewindOutOfRangeError) =>
      `Cannot rewind ${lacks}. It reaches back to ${reach ?? "the beginning of the state"}. Nothing was changed.`,
    hint: ({ reach, steps, isOfCause }: RewindOutOfRangeError) =>
      [
        ...(isOfCause ? [] : ["Use a cause, such as request:12. `svc emulator trace REF` shows it."]),
        ...(reach === undefined || !isOfCause ? [] : ["Start with a larger SVC_HISTORY to retain more."]),
        ...(steps ? [`\`svc emulator rewind --steps ${steps}\` goes back to its beginning.`] : []),
        "`svc emulator snapshot list` shows the saved states.",
      ].join(" "),
  }),
  "not-behind": control({
    status: 400,
    when: "the time to rewind to is after the current virtual time",
    basis: ours,
    code: "not_behind",
    says: ({ now }: { now: string }) => `Cannot rewind to the future: virtual time is ${now}.`,
    hint: "Advance the clock with `svc emulator clock advance`.",
  }),
  "unusable-snapshot": control({
    status: 409,
    when: "the snapshot is damaged, renamed, not a snapshot, or of another version of svc or other clusters",
    basis: ours,
    code: "unusable_snapshot",
    says: ({ name, reason }: { name: string; reason: string }) =>
      `Cannot use snapshot ${name}: ${reason}. Nothing was changed.`,
    hint: ({ name }) =>
      `\`svc emulator snapshot list\` shows the others and their files. \`svc emulator snapshot remove ${name}\` removes this one.`,
  }),
};
