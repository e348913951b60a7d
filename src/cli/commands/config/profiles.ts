import { defineCommand } from "../../command.ts";
import { readProfiles } from "../../config/profile.ts";

const fields = ["name", "current", "router_url", "contracts_url", "client_id", "has_secret", "clusters"];

export const configProfiles = defineCommand({
  words: ["config", "profiles"],
  sendsNothing: true,
  summary: "List the profiles",
  positionals: [],
  flags: [],
  examples: [
    { title: "Their names, for a script", argv: ["config", "profiles", "--format", "tsv", "--fields", "name"] },
  ],
  async run(_input, context) {
    const { current, profiles } = await readProfiles(context.host.env);
    const rows = Object.entries(profiles).map(([name, profile]) => ({
      name,
      current: name === current,
      router_url: profile.router_url ?? null,
      contracts_url: profile.contracts_url ?? null,
      client_id: profile.client_id ?? null,
      has_secret: profile.client_secret !== undefined,
      clusters: Object.keys(profile.cluster_keys ?? {}),
    }));
    await context.output.show(rows, {
      fields,
      columns: ["name", "current", { name: "router_url", cut: 1 }],
      none: "No profiles",
    });
    return undefined;
  },
});
