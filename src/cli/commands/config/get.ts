import { defineCommand } from "../../command.ts";
import { CommandFailedError, UsageError } from "../../failure.ts";

export const configGet = defineCommand({
  words: ["config", "get"],
  sendsNothing: true,
  summary: "Show one setting",
  description: "Exits 5 if it is not set. Secrets are not shown.",
  positionals: [{ name: "key", description: "Setting, such as router_url" }],
  flags: [],
  examples: [{ title: "Show the address of the routing service", argv: ["config", "get", "router_url"] }],
  async run(input, context) {
    const { effectiveSettings } = await import("../../config/effective-settings.ts");
    const { findSetting } = await import("../../config/setting-keys.ts");
    const key = input.positionals.key;
    const found = (await effectiveSettings(context)).find((one) => one.key === key);
    if (found?.isSecret) throw new UsageError(`${key} is a secret and is not shown. It comes from ${found.origin}.`);
    if (!found) {
      findSetting(key);
      throw new CommandFailedError("not-found", "not_set", `${key} is not set.`);
    }
    const { value, origin } = found;
    if (context.output.format === "table") await context.output.print(String(value));
    else await context.output.show({ key, value, origin }, { fields: ["key", "value", "origin"] });
    return undefined;
  },
});
