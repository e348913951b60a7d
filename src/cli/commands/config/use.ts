import { defineCommand } from "../../command.ts";
import { readVariable, serviceSettings } from "../../settings.ts";

export const configUse = defineCommand({
  words: ["config", "use"],
  sendsNothing: true,
  prints: "text",
  summary: "Select the profile of later commands",
  positionals: [{ name: "profile", description: "Name of the profile" }],
  flags: [],
  examples: [{ title: "Use staging from now on", argv: ["config", "use", "staging"] }],
  async run(input, context) {
    const { useProfile } = await import("../../config/profile-change.ts");
    const name = input.positionals.profile;
    await useProfile(context, name);
    await context.output.note(`Commands use profile ${name} from now on`);
    const over = readVariable(context.host, "SVC_PROFILE");
    if (over && over.value !== name) {
      await context.output.warn(`${over.origin} is set to ${over.value} here and overrides it.`);
    }
    const { isEmulatorHere, chosenBy } = await serviceSettings(context);
    if (isEmulatorHere) {
      await context.output.warn(`In this folder ${chosenBy} overrides it. To use the profile: --profile ${name}.`);
    }
    return undefined;
  },
});
