import { toFields } from "../../../base/object.ts";
import { NetworkError, replaceMissing, ServiceError } from "../../../client/errors.ts";
import { type CommandSpec, createSwitch } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { formatNextCommand } from "../../parse/argv.ts";
import type { CommandInput } from "../../parse/declaration.ts";
import { PartialFailureError, UsageError } from "../../process/failure.ts";
import { canPrompt } from "../../prompt/terminal.ts";
import { type PreparedRequest, prepareRequest } from "../../runtime/derived-command.ts";

const idempotentFlag = createSwitch("idempotent", "Show the contract with this external_metadata.id if it exists");

/** Shows the contract that the request would duplicate. Returns false if there is none. */
async function showExisting({ call, client }: PreparedRequest, spec: CommandSpec, { output }: Context) {
  const { id } = toFields(toFields(call.args.body).external_metadata);
  if (typeof id !== "string" || id === "") {
    throw new UsageError("--idempotent requires external_metadata.id", {
      hint: "Set it to the ID of the record in your system: --set external_metadata.id=ID",
    });
  }
  const { findByExternalMetadata } = await import("../../../api/contracts/external-metadata.ts");
  const params = { external_metadata_id: id };
  // The response without this field is undocumented.
  const contracts = await client.call(findByExternalMetadata, { params }).catch(replaceMissing([]));
  const [newest] = contracts;
  if (newest === undefined) return false;
  await output.show(newest, { fields: spec.fields });
  const remainder = contracts.length === 1 ? "" : `, and ${contracts.length - 1} more have`;
  await output.note(`${newest.id} already has external_metadata.id ${id}${remainder}. Nothing was created.`);
  return true;
}

/** The same request must not be repeated unchanged after an unknown outcome. */
function explainSafeRepeat(error: unknown): never {
  const isRequestError = error instanceof NetworkError || error instanceof ServiceError;
  if (!isRequestError || !error.outcomeUnknown) throw error;
  const hint =
    "The request may have taken effect. To repeat it safely, use --idempotent, which looks up external_metadata.id first.";
  throw new PartialFailureError(error, [], { hint });
}

/** Sends the request, unless --idempotent finds its contract. Returns undefined if nothing was sent. */
async function createOnce(spec: CommandSpec, input: CommandInput, context: Context) {
  const request = await prepareRequest(spec, input, context);
  if (request === "dry-run") return undefined;
  if (input.flags.idempotent && (await showExisting(request, spec, context))) return undefined;
  return request.send().catch(explainSafeRepeat);
}

const contractsCreate = defineCommand({
  words: ["contracts", "create"],
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
  flags: [idempotentFlag],
  examples: [
    ["Read a file, and change the name", "contracts create --data nda.json --contract-name 'NDA with Acme'"],
    [
      "Create one contract per record of your system",
      "contracts create --data nda.json --set external_metadata.id=deal-42 --idempotent",
    ],
  ],
  async run(input, context, spec) {
    const isInteractive = input.flags.data === undefined && input.flags.set === undefined;
    const asks = isInteractive && canPrompt(context.host, context.globals);
    const questions = asks ? await import("./ask-contract.ts") : undefined;
    const wholeInput = questions ? await questions.promptForContract(input, context) : input;
    const response = await createOnce(spec!, wholeInput, context).catch(async (error: unknown) => {
      const supplementedInput = await questions?.askForSignatory(error, wholeInput, context);
      if (supplementedInput === undefined) throw error;
      return createOnce(spec!, supplementedInput, context);
    });
    const { id } = toFields(response?.value);
    if (typeof id === "string")
      await context.output.note(`Created ${id}. Next: ${formatNextCommand(["contracts", "send", id], context)}`);
  },
});

const contractsImportExecuted = defineCommand({
  words: ["contracts", "import-executed"],
  extendsDerived: true,
  flags: [idempotentFlag],
  examples: [
    [
      "Import each record of your system once, even if it runs again",
      "contracts import-executed --data archived.json --set external_metadata.id=deal-42 --idempotent",
    ],
  ],
  async run(input, context, spec) {
    await createOnce(spec!, input, context);
  },
});

export const commands: readonly Command[] = [contractsCreate, contractsImportExecuted];
