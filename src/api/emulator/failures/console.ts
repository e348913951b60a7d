import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The console is the emulator's own.");

export const consoleFailures = {
  "no-such-asset": control({
    status: 404,
    when: "the page of the console loads no file of that name",
    basis: ours,
    code: "no_such_asset",
    says: ({ name }: { name: string }) => `The console has no file ${name}.`,
    hint: "Load the page again: another version of svc may have taken the place of the one that made it.",
  }),
  "session-code-refused": control({
    status: 403,
    when: "the code was used before, is older than a minute, or was made by no emulator that runs here",
    basis: ours,
    code: "session_code_refused",
    says: "This code signs nobody in: each does so once, within a minute.",
    hint: "Run `svc emulator open` for a new one.",
  }),
};
