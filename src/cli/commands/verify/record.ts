import { listTemplates } from "../../../api/contracts/templates.ts";
import { checkHealth } from "../../../api/router/proxied.ts";
import { isObject, lookupTable, toFields } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import { requireValidValue } from "../../../client/response.ts";
import { createSwitch, createTextFlag, type FlagSpec } from "../../../derive/command-spec.ts";
import { type Command, defineCommand } from "../../command.ts";
import { formatNextCommand } from "../../parse/argv.ts";
import { InputRequiredError, PartialFailureError } from "../../process/failure.ts";
import { openRecording } from "./open-recorder.ts";
import { createRecordingClient, type RecordingClient } from "./record-caller.ts";
import { createRecordingJourney, journeyPlanSteps } from "./record-journey.ts";

const listRows = (document: unknown): readonly Record<string, unknown>[] => {
  const list = Array.isArray(document) ? document : Object.values(toFields(document)).find(Array.isArray);
  return Array.isArray(list) ? list.filter(isObject) : [];
};

/** Lists that are readable with any key. */
const listOperations = [
  ...["templates.list", "contract-types.list", "users.list", "users.roles", "organizations.types"],
  ...["organizations.entities", "contracts.list", "counterparties.list", "intake.list", "clusters.list"],
  ...["health.show", "oidc.discovery", "oidc.jwks"],
] as const;

/** Operations that read the first items of a list, with the name of the ID and of the parameter. */
const detailOperations: readonly (readonly [
  list: (typeof listOperations)[number],
  id: string,
  parameter: string,
  operations: readonly string[],
])[] = [
  ["templates.list", "id", "template_id", ["templates.show", "templates.metadata"]],
  ["contract-types.list", "id", "contract_type_id", ["contract-types.entities", "contract-types.intake-form"]],
  [
    "contracts.list",
    "id",
    "composite_id",
    ["contracts.status", "contracts.recipients", "contract-details.notes", "key-pointers.list", "approvals.list"],
  ],
  [
    "counterparties.list",
    "id",
    "counter_party_id",
    ["counterparties.show", "counterparty-contacts.list", "counterparty-addresses.list"],
  ],
  ["intake.list", "id", "intake_id", ["intake.show"]],
];
const maxDetailedItems = 3;

const unknownIds = lookupTable<string | number>({
  composite_id: "T-999999999",
  contract_id: 999_999_999,
  template_id: 999_999_999,
  contract_type_id: 999_999_999,
  counter_party_id: 999_999_999,
  intake_id: 999_999_999,
  file_id: "00000000-0000-4000-8000-000000000000",
  email_hash: "0".repeat(64),
  client_id: "unknown-client",
});

const probedOperations: readonly (readonly [operation: string, parameter: string])[] = [
  ["contracts.status", "composite_id"],
  ["contracts.recipients", "composite_id"],
  ["contract-details.notes", "composite_id"],
  ["comments.list", "contract_id"],
  ["templates.show", "template_id"],
  ["contract-types.entities", "contract_type_id"],
  ["counterparties.show", "counter_party_id"],
  ["intake.show", "intake_id"],
  ["files.show", "file_id"],
  ["cluster-emails.show", "email_hash"],
  ["cluster-clients.show", "client_id"],
];

const readsPlan: readonly string[] = [
  `List ${listOperations.length} kinds of objects, and show the first ${maxDetailedItems} of each`,
  `Look up ${probedOperations.length} IDs that do not exist`,
  "Send a wrong method, a wrong type and one wrong secret",
];

async function recordReads(caller: RecordingClient): Promise<void> {
  const lists = new Map<string, unknown>();
  for (const list of listOperations) lists.set(list, await caller.tryCall(list));
  for (const [list, id, parameter, operations] of detailOperations) {
    for (const row of listRows(lists.get(list)).slice(0, maxDetailedItems)) {
      const value = row[id];
      if (typeof value !== "string" && typeof value !== "number") continue;
      for (const operation of operations) await caller.tryCall(operation, { params: { [parameter]: value } });
    }
  }
  for (const [operation, parameter] of probedOperations)
    await caller.tryCall(operation, { params: { [parameter]: unknownIds[parameter]! } });
  if (!caller.canCall("templates.list")) return;
  await caller.call("templates.list", { method: "PUT" });
  await caller.call("contracts.list", { query: { page: "first" } });
  // This request is sent only once, because services lock keys after too many failures.
  await caller.call("templates.list", { headers: { "client-secret": "wrong" } });
}

const flags = [
  createTextFlag("out", "FOLDER", "Folder of the corpus"),
  createSwitch("allow-writes", "Also create objects, and remove them again"),
  createSwitch("plan", "Print what would be done, and exit"),
  { flag: "rate", type: "number", placeholder: "N", description: "Maximum requests per second", default: 5 },
] as const satisfies readonly FlagSpec[];

const verifyRecord = defineCommand({
  words: ["verify", "record"],
  summary: "Record how a service responds to planned calls",
  description:
    "Calls the service of a profile and writes a corpus: lists, details, and harmless mistakes such as unknown IDs. It only reads, unless --allow-writes is given. It then also runs a journey and removes the objects that the journey creates, also after Ctrl-C. Secrets, e-mail addresses and names are replaced before anything is written. The same command continues an interrupted recording.",
  flags,
  examples: [
    ["Record reads only", "verify record --profile staging --out corpus"],
    ["List the requests of a journey", "verify record --profile staging --out corpus --allow-writes --plan"],
  ],
  async run({ flags: flagValues }, context) {
    const { output, signal } = context;
    const { out: folderName, rate = 5 } = flagValues;
    if (folderName === undefined) throw new InputRequiredError("out", "--out is required: the folder of the corpus");
    const writes = flagValues["allow-writes"] === true;
    const plan = [...readsPlan, ...(writes ? journeyPlanSteps : [])];
    if (flagValues.plan) {
      if (output.format === "table") await output.print(...plan);
      else await output.show(plan.map((step) => ({ step })));
      return undefined;
    }
    const { baseUrls, credentials, origin } = await context.target("contracts");
    await output.note(`Recording ${origin}:`);
    for (const step of plan) await output.note(`  ${step}`);
    const question = `Create and remove objects at ${baseUrls.contracts ?? baseUrls.router}?`;
    if (writes && !(await context.confirm(question, "--yes"))) return "failed";
    // The default client reports wrong addresses and keys with the common messages.
    const hasKey = baseUrls.contracts !== undefined && credentials.clientId !== undefined;
    if (hasKey) {
      const response = await (await context.client("contracts")).send(CheckedCall.check(listTemplates));
      // Rows of another shape are what a recording is for.
      if (!Array.isArray(toFields(response.value).items)) requireValidValue(response);
    } else await (await context.client("router")).call(checkHealth);
    const { recorder, end, continued: continuedCount } = await openRecording(context, folderName);
    const caller = createRecordingClient({ baseUrls, credentials }, recorder, Math.max(0.01, rate), signal);
    // Removing objects takes additional requests.
    if (writes) context.shutdown.extendGrace(30_000);
    const journey = createRecordingJourney(caller);
    let remaining: readonly string[] = [];
    try {
      await recordReads(caller);
      if (writes) await journey.run();
    } catch (cause) {
      if (recorder.count === continuedCount) throw cause;
      throw new PartialFailureError(cause, [`Recorded ${pluralize(recorder.count, "exchange")} in ${folderName}.`], {
        hint: `To continue: ${formatNextCommand(context.argv, context)}`,
        repeatable: !writes,
      });
    } finally {
      remaining = await journey.cleanUp();
      for (const line of remaining) await output.warn(`warning: not removed: ${line}`);
      caller.close();
    }
    await end();
    if (output.format === "table")
      await output.print(`Recorded ${pluralize(recorder.count, "exchange")} in ${folderName}`);
    else await output.show({ exchanges: recorder.count, folder: folderName, not_removed: remaining });
    await output.note(`Check with: svc verify scan ${folderName}`);
    return remaining.length > 0 ? "failed" : undefined;
  },
});

export const commands: readonly Command[] = [verifyRecord];
