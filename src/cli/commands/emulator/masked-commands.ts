import { defineCommand } from "../../command.ts";
import { runDerivedCommand } from "../../derived-command.ts";

/** A derived command that shows secrets which nobody knew before: a runner masks them, as it does those of `env`. */
const masked = (words: readonly string[], summary: string, secrets: readonly string[]) =>
  defineCommand({
    words,
    summary,
    extendsDerived: true,
    positionals: [],
    flags: [],
    examples: [],
    run: (input, context, spec) => runDerivedCommand(spec!, input, context, { secrets }),
  });

export const tokensCreate = masked(["emulator", "tokens", "create"], "Create a token for the control plane", ["token"]);

export const workspacesCreate = masked(
  ["emulator", "workspaces", "create"],
  "Create a workspace with its own keys and templates",
  ["client_secret", "hmac_key"],
);
