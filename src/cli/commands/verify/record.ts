import { listTemplates } from "../../../api/contracts/templates.ts";
import { getOperationById, type OperationId } from "../../../api/registry.ts";
import { checkHealth } from "../../../api/router/proxied.ts";
import { waitUntilAborted } from "../../../base/concurrency.ts";
import { lookupTable, toFields, toRows } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import { findPlaceholders } from "../../../base/urls.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import { requireValidValue } from "../../../client/response.ts";
import { createIntegerFlag, createSwitch, createTextFlag } from "../../../derive/command-spec.ts";
import { openRecordingProxy } from "../../../verify/proxy.ts";
import type { RawExchange } from "../../../verify/recorder.ts";
import { type Command, defineCommand } from "../../command.ts";
import { formatNextCommand } from "../../parse/argv.ts";
import { parseBaseUrlFlag } from "../../parse/globals.ts";
import { CommandFailedError, InputRequiredError, PartialFailureError, UsageError } from "../../process/failure.ts";
import { confirmYes } from "../../prompt/terminal.ts";
import { createRecordingJourney, journeyPlanSteps } from "./record-journey.ts";
import { createRecordingClient, openRecording, type RecordingClient } from "./recording.ts";

const listRows = (document: unknown): readonly Record<string, unknown>[] =>
  toRows(Array.isArray(document) ? document : Object.values(toFields(document)).find(Array.isArray));

/** Lists that are readable with any key. */
const listOperations = [
  ...["templates.list", "contract-types.list", "users.list", "users.roles", "organizations.types"],
  ...["organizations.entities", "contracts.list", "counterparties.list", "intake.list", "clusters.list"],
  ...["health.show", "oidc.discovery", "oidc.jwks"],
] as const;

/** Operations that read the first items of a list by their IDs. */
const detailOperations: readonly (readonly [
  list: (typeof listOperations)[number],
  operations: readonly OperationId[],
])[] = [
  ["templates.list", ["templates.show", "templates.metadata"]],
  ["contract-types.list", ["contract-types.entities", "contract-types.intake-form"]],
  [
    "contracts.list",
    ["contracts.status", "contracts.recipients", "contract-details.notes", "key-pointers.list", "approvals.list"],
  ],
  ["counterparties.list", ["counterparties.show", "counterparty-contacts.list", "counterparty-addresses.list"]],
  ["intake.list", ["intake.show"]],
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

const probedOperations = [
  ...["contracts.status", "contracts.recipients", "contract-details.notes", "comments.list", "templates.show"],
  ...["contract-types.entities", "counterparties.show", "intake.show", "files.show", "cluster-emails.show"],
  "cluster-clients.show",
] as const;

const readsPlan: readonly string[] = [
  `List ${listOperations.length} kinds of objects, and show the first ${maxDetailedItems} of each`,
  `Look up ${probedOperations.length} IDs that do not exist`,
  "Send a wrong method, a wrong type and one wrong secret",
];

async function recordReads(caller: RecordingClient): Promise<void> {
  const lists = new Map<string, unknown>();
  for (const list of listOperations) lists.set(list, await caller.tryCall(list));
  const tryShow = async (operation: OperationId, id?: string | number) => {
    const [parameter = ""] = findPlaceholders(getOperationById(operation).path);
    await caller.tryCall(operation, { params: { [parameter]: id ?? unknownIds[parameter]! } });
  };
  for (const [list, operations] of detailOperations) {
    for (const { id } of listRows(lists.get(list)).slice(0, maxDetailedItems)) {
      if (typeof id !== "string" && typeof id !== "number") continue;
      for (const operation of operations) await tryShow(operation, id);
    }
  }
  for (const operation of probedOperations) await tryShow(operation);
  if (!caller.canCall("templates.list")) return;
  await caller.call("templates.list", { method: "PUT" });
  await caller.call("contracts.list", { query: { page: "first" } });
  // This request is sent only once, because services lock keys after too many failures.
  await caller.call("templates.list", { headers: { "client-secret": "wrong" } });
}

const verifyRecord = defineCommand({
  words: ["verify", "record"],
  summary: "Record how a service responds to planned requests",
  description:
    "Sends requests to the service of a profile and writes a corpus: lists, details, and harmless mistakes such as unknown IDs. Sends only reads, unless --allow-writes is given. With it, also runs a journey, and removes the objects that the journey creates, even after Ctrl-C. Secrets, e-mail addresses and names are replaced before anything is written. The same command continues an interrupted recording.",
  flags: [
    createTextFlag("out", "FOLDER", "Folder of the corpus"),
    createSwitch("allow-writes", "Also create objects, and remove them afterwards"),
    createSwitch("plan", "Print the steps, and exit"),
    { flag: "rate", type: "number", placeholder: "N", description: "Maximum requests per second", default: 5 },
  ],
  examples: [
    ["Record reads only", "verify record --profile staging --out corpus"],
    ["List the steps of a journey", "verify record --profile staging --out corpus --allow-writes --plan"],
  ],
  async run({ flags }, context) {
    const { output, signal } = context;
    const { out: folderName, rate = 5 } = flags;
    if (folderName === undefined) throw new InputRequiredError("out", "--out is required: the folder of the corpus");
    const writes = flags["allow-writes"] === true;
    const plan = [...readsPlan, ...(writes ? journeyPlanSteps : [])];
    if (flags.plan) {
      if (output.format === "table") await output.print(...plan);
      else await output.show(plan.map((step) => ({ step })));
      return undefined;
    }
    const { baseUrls, credentials, origin } = await context.target("contracts");
    await output.note(`Recording ${origin}:`);
    for (const step of plan) await output.note(`  ${step}`);
    if (writes) await confirmYes(`Create and remove objects at ${baseUrls.contracts ?? baseUrls.router}`, context);
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

/** An empty host would be every address of this machine. */
const createHostError = (address: string, cause?: unknown): UsageError =>
  new UsageError(`--host must be an address of this machine, got "${address}"`, { cause });

const verifyProxy = defineCommand({
  words: ["verify", "proxy"],
  summary: "Record the traffic of other programs with a service",
  description:
    "Listens on this machine, forwards each request to the service byte for byte, and records it with its response. Secrets, e-mail addresses and names are replaced before anything is written. To record webhooks too, run svc webhooks listen --save with the same folder. Ctrl-C completes the corpus. With --json, each exchange is a line of JSON.",
  flags: [
    createTextFlag("to", "URL", "Base URL of the service (default: the base URL of the profile)"),
    createTextFlag("out", "FOLDER", "Folder of the corpus"),
    createTextFlag("host", "ADDRESS", "Address to listen on", { default: "127.0.0.1" }),
    createIntegerFlag("port", "Port to listen on; 0 for a free one", { min: 0, max: 65_535, default: 0 }),
    createIntegerFlag("count", "Stop after this number of exchanges", { min: 1 }),
  ],
  examples: [["Record the requests of your app", "verify proxy --to https://api.example.com --out corpus --port 8080"]],
  async run({ flags }, context) {
    const { output, signal, host, onEnd } = context;
    const { out: folderName, count = Number.POSITIVE_INFINITY, port = 0, host: address = "127.0.0.1" } = flags;
    if (folderName === undefined) throw new InputRequiredError("out", "--out is required: the folder of the corpus");
    const to =
      flags.to === undefined
        ? (await context.target("contracts")).baseUrls.contracts
        : parseBaseUrlFlag(flags.to, "--to");
    if (to === undefined) throw new InputRequiredError("to", "--to is required: the base URL of the service");
    if (address === "") throw createHostError(address);
    const { recorder, end } = await openRecording(context, folderName);
    const pendingWrites: Promise<unknown>[] = [];
    const stopController = new AbortController();
    const endSignal = AbortSignal.any([signal, stopController.signal]);
    const store = async (exchange: RawExchange): Promise<void> => {
      const file = await recorder.add(exchange);
      const { method, target } = exchange.request;
      const { status } = exchange.response;
      const line = `${method} ${target.split("?")[0]} ${status} ${file}`;
      await output.printEvent({ type: "exchange", file, status }, line);
    };
    let exchangeCount = 0;
    let skippedCount = 0;
    let failure: unknown;
    const proxy = await openRecordingProxy({
      to,
      host: address,
      port,
      now: () => host.wall.now(),
      onExchange(exchange) {
        exchangeCount += 1;
        if (exchangeCount > count) return;
        pendingWrites.push(
          store(exchange).catch((error: unknown) => {
            failure ??= error;
            stopController.abort();
          }),
        );
        if (exchangeCount === count) stopController.abort();
      },
      onSkipped(reason) {
        skippedCount += 1;
        pendingWrites.push(output.warn(`Not recorded: ${reason}`));
      },
    }).catch((cause: NodeJS.ErrnoException) => {
      if (cause.syscall === "getaddrinfo" || cause.code === "EADDRNOTAVAIL") throw createHostError(address, cause);
      if (!["EADDRINUSE", "EACCES"].includes(cause.code ?? "")) throw cause;
      const hint = "Choose another port with --port, or omit --port for a free port.";
      const message = `Cannot listen on ${address}, port ${port}: ${cause.code}.`;
      throw new CommandFailedError("failed", "port_taken", message, { hint, cause });
    });
    onEnd(() => proxy.close());
    const { origin } = new URL(to);
    if (!["127.0.0.1", "localhost", "::1"].includes(address))
      await output.warn(`warning: listening on ${address}: other machines can send requests to ${origin} through it`);
    if (output.format !== "table") await output.printDocument({ type: "ready", url: proxy.url });
    await output.note(`Recording on ${proxy.url}; requests go to ${to} (press Ctrl-C to stop)`);
    await waitUntilAborted(endSignal);
    await proxy.close();
    await Promise.all(pendingWrites);
    await end();
    if (failure !== undefined) throw failure;
    if (skippedCount > 0) await output.warn(`${pluralize(skippedCount, "exchange")} not recorded`);
    await output.note(
      `Recorded ${pluralize(recorder.count, "exchange")} in ${folderName}. Check with: svc verify scan ${folderName}`,
    );
    signal.throwIfAborted();
  },
});

export const commands: readonly Command[] = [verifyRecord, verifyProxy];
