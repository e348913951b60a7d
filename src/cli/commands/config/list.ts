import { defineCommand } from "../../command.ts";

const hidden = "[hidden]";

export const configList = defineCommand({
  words: ["config", "list"],
  sendsNothing: true,
  summary: "Show the settings that commands would use here",
  description:
    "Options override the environment, and the environment overrides the profile. A profile of --profile overrides the environment. Secrets are never shown.",
  positionals: [],
  flags: [{ flag: "show-origin", type: "switch", description: "Show where each value comes from" }],
  examples: [
    { title: "Show the origin of each value", argv: ["config", "list", "--show-origin"] },
    { title: "Show the settings of another profile", argv: ["config", "list", "--profile", "staging"] },
  ],
  async run(input, context) {
    const { effectiveSettings } = await import("../../config/effective-settings.ts");
    const found = await effectiveSettings(context);
    const rows = found.map((one) => ({ key: one.key, value: one.isSecret ? hidden : one.value, origin: one.origin }));
    const value = { name: "value", cut: 1 } as const;
    const columns =
      input.flags["show-origin"] === true ? ["key", value, { name: "origin", cut: 2 } as const] : ["key", value];
    await context.output.show(rows, { fields: ["key", "value", "origin"], columns, none: "No settings" });
    return undefined;
  },
});
