import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The console is part of the emulator.");

export const consoleFailures = {
  "no-such-asset": control({
    status: 404,
    when: "the console has no file of that name",
    basis: ours,
    code: "no_such_asset",
    says: ({ name }: { name: string }) => `The console has no file ${name}.`,
    hint: "Reload the page. It may be from another version of svc.",
  }),
  "session-code-refused": control({
    status: 403,
    when: "the code was used, is older than a minute, or is from another emulator",
    basis: ours,
    code: "session_code_refused",
    says: "The sign-in code is invalid. Codes work once, within a minute.",
    hint: "Run `svc emulator open` for a new code.",
  }),
};
