import { defineCommand } from "../../command.ts";

export const configUnset = defineCommand({
  words: ["config", "unset"],
  sendsNothing: true,
  prints: "text",
  summary: "Remove a setting from a profile",
  positionals: [{ name: "key", description: "Setting, such as router_url or cluster_keys.eu-1" }],
  flags: [],
  examples: [{ title: "Remove a secret", argv: ["config", "unset", "client_secret"] }],
  async run(input, context) {
    const { findSetting, withSetting } = await import("../../config/setting-keys.ts");
    const { changeProfile } = await import("../../config/profile-change.ts");
    const { key } = findSetting(input.positionals.key);
    const { name } = await changeProfile(context, (profile) => withSetting(profile, key, undefined), {
      mustExist: true,
    });
    await context.output.note(`Unset ${key} of profile ${name}`);
    return undefined;
  },
});
