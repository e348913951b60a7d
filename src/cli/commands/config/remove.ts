import { defineCommand } from "../../command.ts";
import { confirmYes } from "../../prompt/confirm.ts";

export const configRemove = defineCommand({
  words: ["config", "remove"],
  prints: "text",
  summary: "Remove a profile with its credentials",
  positionals: [{ name: "profile", description: "Name of the profile" }],
  flags: [],
  examples: [{ title: "Without a question", argv: ["config", "remove", "staging", "--yes"] }],
  async run(input, context) {
    const { requireKnownProfile, removeProfile } = await import("../../config/profile-change.ts");
    const name = input.positionals.profile;
    await requireKnownProfile(context, name);
    await confirmYes(`Remove profile ${name} with its credentials`, context);
    await removeProfile(context, name);
    await context.output.note(`Removed profile ${name}`);
    return undefined;
  },
});
