import { command } from "../../command.ts";
import { mayAsk } from "../../context.ts";
import { call } from "../../derived.ts";
import { commandLine } from "../../help/examples.ts";

export const contractsCreate = command({
  words: ["contracts", "create"],
  summary: "Create a contract from a template",
  description: [
    "The contract stays in DRAFT until it is sent; workflow_config.auto_send_to_counterparty sends it at once.",
    "At a terminal, without --data and --set, you are asked for the template, its attributes and the counterparty.",
  ].join(" "),
  extendsDerived: true,
  readsDerived: {
    flags: [
      { flag: "data", type: "text" },
      { flag: "set", type: "text", repeatable: true },
    ],
  },
  positionals: [],
  flags: [],
  examples: [
    {
      title: "From a file, with another name",
      argv: ["contracts", "create", "--data", "nda.json", "--contract-name", "NDA with Acme"],
    },
  ],
  async run(given, context, spec) {
    const { flags } = given;
    const isBare = flags.data === undefined && flags.set === undefined;
    const input =
      isBare && mayAsk(context.host, context.globals)
        ? await (await import("../../prompt/contract.ts")).askContract(given, context)
        : given;
    const prepared = await call(spec!, input, context);
    if (prepared === "dry-run") return undefined;
    const { value } = await prepared.send();
    const { id } = value as { id?: string };
    if (id !== undefined) await context.output.note(`Created ${id}. Next: ${commandLine(["contracts", "send", id])}`);
    return undefined;
  },
});
