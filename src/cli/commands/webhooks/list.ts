import { type Command, defineCommand } from "../../command.ts";
import { requireEmulator } from "../../connection/target.ts";
import { runDerivedCommand } from "../../runtime/derived-command.ts";

/** The public API has no such list. An emulator provides it, and the real service shows it in its application. */
const webhooksList = defineCommand({
  words: ["webhooks", "list"],
  description: "The real service shows its webhooks in its application only.",
  extendsDerived: "emulator webhooks",
  readsDerived: { flags: [{ flag: "file", type: "text" }] },
  async run(input, context, spec) {
    await requireEmulator(input.flags.file, context);
    return runDerivedCommand(spec!, input, context);
  },
});

export const commands: readonly Command[] = [webhooksList];
