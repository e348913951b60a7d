import type { Command } from "../../command.ts";

export const contractsCreate: Command = {
  words: ["contracts", "create"],
  summary: "Create a contract from a template",
  extendsDerived: true,
  positionals: [],
  flags: [],
  examples: [
    {
      title: "From a file, with another name",
      argv: ["contracts", "create", "--data", "nda.json", "--contract-name", "NDA with Acme"],
    },
  ],
  async run(input, context, spec) {
    const { call } = await import("../../derived.ts");
    const prepared = await call(spec!, input, context);
    if (prepared === "dry-run") return undefined;
    const { value } = await prepared.send();
    const { id } = value as { id?: string };
    if (id !== undefined) await context.output.note(`Created ${id}. Next: svc contracts send ${id}`);
    return undefined;
  },
};
