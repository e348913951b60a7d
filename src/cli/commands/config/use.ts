import { command } from "../../command.ts";

export const configUse = command({
  words: ["config", "use"],
  summary: "Choose the profile of later commands",
  positionals: [{ name: "profile", description: "Its name" }],
  flags: [],
  examples: [{ title: "Work on staging from now on", argv: ["config", "use", "staging"] }],
  async run(input, context) {
    const { useProfile } = await import("../../config/profile-change.ts");
    const name = input.positionals.profile;
    await useProfile(context, name);
    await context.output.note(`Commands use profile ${name} from now on`);
    const over = context.host.env.SVC_PROFILE;
    if (over && over !== name) await context.output.warn(`SVC_PROFILE is set to ${over} here, and outranks it.`);
    return undefined;
  },
});
