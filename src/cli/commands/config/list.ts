import { command } from "../../command.ts";

const hidden = "[hidden]";

export const configList = command({
  words: ["config", "list"],
  summary: "Show the settings that commands would use here",
  description:
    "Flags come before the environment, and the environment before the profile; a profile that --profile names comes before the environment. Secrets are never shown.",
  positionals: [],
  flags: [{ flag: "show-origin", type: "switch", description: "Say where each value comes from" }],
  examples: [
    { title: "Where does everything come from?", argv: ["config", "list", "--show-origin"] },
    { title: "What another profile would give", argv: ["config", "list", "--profile", "staging"] },
  ],
  async run(input, context) {
    const { effectiveSettings } = await import("../../config/effective.ts");
    const found = await effectiveSettings(context);
    const rows = found.map((one) => ({ key: one.key, value: one.isSecret ? hidden : one.value, origin: one.origin }));
    const value = { name: "value", cut: 1 } as const;
    const columns =
      input.flags["show-origin"] === true ? ["key", value, { name: "origin", cut: 2 } as const] : ["key", value];
    await context.output.show(rows, { fields: ["key", "value", "origin"], columns, none: "Nothing is set" });
    return undefined;
  },
});
