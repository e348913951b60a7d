import { fieldsOf } from "../../../base/object.ts";
import type { ApiResponse } from "../../../client/response.ts";
import { defineCommand } from "../../command.ts";
import { canPrompt } from "../../context.ts";
import { prepareCall } from "../../derived-command.ts";
import { formatNextCommand } from "../../next-command.ts";
import { addSafeRepeat, idempotentFlag, showExisting } from "./idempotent.ts";

export const contractsCreate = defineCommand({
  words: ["contracts", "create"],
  summary: "Create a contract from a template",
  description:
    "The contract stays in DRAFT until it is sent; workflow_config.auto_send_to_counterparty sends it immediately. On a terminal, without --data and --set, the command asks for the template, its attributes and the counterparty.",
  extendsDerived: true,
  readsDerived: {
    flags: [
      { flag: "contract-template-id", type: "integer" },
      { flag: "data", type: "text" },
      { flag: "set", type: "text", repeatable: true },
    ],
  },
  positionals: [],
  flags: [idempotentFlag],
  examples: [
    {
      title: "From a file, with another name",
      argv: ["contracts", "create", "--data", "nda.json", "--contract-name", "NDA with Acme"],
    },
    {
      title: "Once for each record of your system, even if it runs again",
      argv: ["contracts", "create", "--data", "nda.json", "--set", "external_metadata.id=deal-42", "--idempotent"],
    },
  ],
  async run(given, context, spec) {
    const { flags } = given;
    const isBare = flags.data === undefined && flags.set === undefined;
    const asks = isBare && canPrompt(context.host, context.globals);
    const questions = asks ? await import("../../prompt/contract.ts") : undefined;
    let input = questions ? await questions.askContract(given, context) : given;
    let answer: ApiResponse | undefined;
    while (answer === undefined) {
      const prepared = await prepareCall(spec!, input, context);
      if (prepared === "dry-run") return undefined;
      if (flags.idempotent && (await showExisting(prepared, spec!, context))) return undefined;
      answer = await prepared.send().catch(async (error: unknown) => {
        const more = await questions?.askForRejectedFields(error, input, context);
        if (more === undefined) throw addSafeRepeat(error);
        input = more;
        return undefined;
      });
    }
    const { id } = fieldsOf(answer.value);
    if (typeof id === "string")
      await context.output.note(`Created ${id}. Next: ${formatNextCommand(["contracts", "send", id], context)}`);
    return undefined;
  },
});
