import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is the emulator's own.");

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
    says: ({ name, known }: { name: string; known: string }) => `No snapshot is called ${name}; there are: ${known}.`,
    hint: "List them with `svc emulator snapshot list`.",
  }),
  "snapshot-there": control({
    status: 409,
    when: "a snapshot has that name, or one that differs in case alone, and `replace` is not given",
    basis: ours,
    code: "snapshot_there",
    says: ({ name }: { name: string }) => `There is a snapshot ${name} already.`,
    hint: "Choose another name, or let it be replaced: --replace.",
  }),
  "no-history": control({
    status: 409,
    when: "the emulator keeps nothing of what led to the present state: it runs in memory, or with `--history 0`",
    basis: ours,
    code: "no_history",
    says: "Nothing is kept here of what led to the present state: that takes a state in a file or a database, and some --history.",
    hint: "Keep states to go back to with `svc emulator snapshot save NAME`.",
  }),
  "beyond-history": control({
    status: 409,
    when: "the history that is kept does not reach so far back, or has nothing of that cause",
    basis: ours,
    code: "beyond_history",
    says: ({ lacks, reach }: RewindOutOfRangeError) =>
      `The history of the present state ${lacks}; it reaches back to ${reach ?? "the beginning of the state"}. Nothing was changed.`,
    hint: ({ reach, steps, isOfCause }: RewindOutOfRangeError) =>
      [
        ...(isOfCause
          ? []
          : ["Only causes are gone back to before, such as request:12: `svc emulator trace REF` shows them."]),
        ...(reach === undefined || !isOfCause ? [] : ["Start with a larger --history to keep more."]),
        ...(steps ? [`\`svc emulator rewind --steps ${steps}\` goes as far as that.`] : []),
        "`svc emulator snapshot list` shows what was kept besides.",
      ].join(" "),
  }),
  "not-behind": control({
    status: 400,
    when: "the time to go back to lies ahead of the present virtual time",
    basis: ours,
    code: "not_behind",
    says: ({ now }: { now: string }) => `Virtual time is ${now}, and what is asked for lies ahead of it.`,
    hint: "Move time ahead with `svc emulator clock advance`.",
  }),
  "unusable-snapshot": control({
    status: 409,
    when: "the snapshot is damaged, of another version of svc, of other clusters, renamed, or none",
    basis: ours,
    code: "unusable_snapshot",
    says: ({ name, reason }: { name: string; reason: string }) =>
      `The snapshot ${name} cannot be used, and nothing was changed: ${reason}.`,
    hint: ({ name }) =>
      `\`svc emulator snapshot list\` shows the others and where their files are; \`svc emulator snapshot remove ${name}\` takes this one away.`,
  }),
};
