import { type Command, defineCommand } from "../../command.ts";
import { runDerivedCommand } from "../../runtime/derived-command.ts";

/** Tables may appear on shared screens, so this one shows where the secrets are and not the secrets. */
const emulatorWorkspaces = defineCommand({
  words: ["emulator", "workspaces"],
  summary: "List workspaces with their keys",
  extendsDerived: true,
  positionals: [],
  flags: [],
  examples: [],
  async run(input, context, spec) {
    await runDerivedCommand(spec!, input, context);
    const hides = context.output.format === "table" && context.globals.fields === undefined;
    if (hides)
      await context.output.note(
        "Secrets are hidden. To print them, use --json. For the variables of the first workspace: svc emulator env",
      );
    return undefined;
  },
});

/** Creates a derived command that shows new secrets. Runners mask them, as they mask those of `env`. */
const createMaskedCommand = (words: readonly string[], summary: string, secrets: readonly string[]) =>
  defineCommand({
    words,
    summary,
    extendsDerived: true,
    positionals: [],
    flags: [],
    examples: [],
    run: (input, context, spec) => runDerivedCommand(spec!, input, context, { secrets }),
  });

const tokensCreate = createMaskedCommand(["emulator", "tokens", "create"], "Create a token for the control plane", [
  "token",
]);

const workspacesCreate = createMaskedCommand(
  ["emulator", "workspaces", "create"],
  "Create a workspace with its own keys and templates",
  ["client_secret", "hmac_key"],
);

export const commands: readonly Command[] = [emulatorWorkspaces, workspacesCreate, tokensCreate];
