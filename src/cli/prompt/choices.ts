import type { Operation, ResultOf } from "../../api/operation.ts";
import { lookupTable } from "../../base/object.ts";
import { type CallArguments, CheckedCall } from "../../client/checked-call.ts";
import type { Context } from "../command.ts";
import { readProfiles } from "../connection/profiles/profile.ts";
import { profileSettings } from "../connection/profiles/profile-fields.ts";
import { CommandFailedError, UsageError } from "../process/failure.ts";
import type { PromptChoice } from "./ask.ts";
import { withSpinner } from "./spinner.ts";

/** Fetches options. `command` is the prompting command, such as `contracts send`. */
type ChoiceFetcher = (context: Context, command: string) => Promise<PromptChoice[]>;

/** Functions that fetch options from a service or a file, by field name. */
const fetchers = lookupTable<ChoiceFetcher>({
  cluster_id: listClusterChoices,
  cluster: listClusterChoices,
  template_id: listTemplateChoices,
  contract_template_id: listTemplateChoices,
  composite_id: listContractChoices,
  intake_id: listIntakeChoices,
  workflow_id: listWorkflows,
  profile: listProfiles,
});

/** Functions that fetch options for fields with another meaning in a group, such as `emulator id`. */
const groupFetchers = lookupTable<ChoiceFetcher>({
  "router job": listJobs,
  "contracts contract_id": listContractNumbers,
  "webhooks contract_ids": listContractNumbers,
  "webhooks webhook_id": listWebhooks,
  "emulator workspace_id": listWorkspaceChoices,
  "config key": async () => profileSettings.map(({ key, what }) => ({ value: key, name: `${key}  ${what}` })),
});

const unfinished = ["DRAFT", "REDLINING", "SIGN", "ON_HOLD"];

const statusesFor = lookupTable<readonly string[]>({
  "contracts send": ["DRAFT"],
  "contracts void": unfinished,
  "contracts resend-email": ["SIGN"],
  "contracts unmark": ["SIGN"],
  "emulator send": ["DRAFT"],
  "emulator mark": ["DRAFT", "REDLINING"],
  "emulator unmark": ["SIGN"],
  "emulator request-review": ["DRAFT", "REDLINING"],
  "emulator request-approval": ["DRAFT", "REDLINING"],
  "emulator approve": ["DRAFT", "REDLINING"],
  "emulator sign": ["SIGN"],
  "emulator decline": ["SIGN"],
  "emulator complete-review": ["REDLINING"],
  "emulator hold": ["DRAFT", "REDLINING", "SIGN"],
  "emulator resume": ["ON_HOLD"],
  "emulator void": unfinished,
});

/** Error messages for an empty list, because no other value is possible. */
const emptyMessages = new Map<ChoiceFetcher, string>([
  [listClusterChoices, "No clusters found."],
  [listTemplateChoices, "No templates found."],
  [listContractChoices, "No contracts found."],
  [listContractNumbers, "No contracts found."],
  [listIntakeChoices, "No intakes found."],
  [listProfiles, "No profiles found."],
  [listWebhooks, "No webhooks found."],
  [listSnapshotChoices, "No snapshots found."],
]);

/** Commands that create the first object or list the parent objects. */
const nextCommands = new Map<ChoiceFetcher, readonly string[]>([
  [listContractNumbers, ["contracts", "create"]],
  [listIntakeChoices, ["intake", "create"]],
  [listProfiles, ["config", "set"]],
  [listWebhooks, ["webhooks", "listen"]],
  [listSnapshotChoices, ["emulator", "snapshot", "save"]],
]);

/**
 * Lists the options of a field: declared ones, or else existing ones. Returns undefined if any value is valid. Throws
 * if there is no option or no terminal, because a prompt has no valid response then.
 */
export async function findChoices(
  field: string,
  declared: readonly string[] | undefined,
  context: Context,
  command: string,
): Promise<readonly PromptChoice[] | undefined> {
  if (declared) return declared.map((value) => ({ value, name: value }));
  const isContract = field === "id" && Object.hasOwn(statusesFor, command);
  const isSnapshot = field === "name" && /^emulator snapshot (?!save)/.test(command);
  const offer = isContract
    ? listContractChoices
    : isSnapshot
      ? listSnapshotChoices
      : (groupFetchers[`${command.split(" ")[0]} ${field}`] ?? fetchers[field]);
  if (!offer) return undefined;
  const found = await withSpinner(context, "Loading the choices", () => offer(context, command)).catch(
    (error: unknown) => {
      if (context.signal.aborted || error instanceof UsageError || error instanceof CommandFailedError) throw error;
      // Other errors recur and are reported when the command runs. The user types the value instead.
      return undefined;
    },
  );
  if (found?.length === 0) failWithoutChoices(offer, command);
  return found;
}

function failWithoutChoices(offer: ChoiceFetcher, command: string): void {
  const statuses = offer === listContractChoices ? statusesFor[command] : undefined;
  const message =
    offer === listJobs
      ? `No ${command === "router jobs resume" ? "stopped " : ""}jobs found.`
      : statuses === undefined
        ? emptyMessages.get(offer)
        : `svc ${command} requires a contract in status ${statuses.join(", ")}. None found.`;
  if (message === undefined) return;
  const next =
    offer === listContractChoices ? ["contracts", statuses === undefined ? "create" : "list"] : nextCommands.get(offer);
  throw new CommandFailedError("not-found", "nothing_to_choose", message, { next });
}

async function listChoices<O extends Operation>(
  service: "router" | "contracts" | "emulator",
  operation: O,
  args: CallArguments,
  context: Context,
): Promise<ResultOf<O>> {
  const client = await context.client(service);
  const { value } = await client.send(CheckedCall.check(operation, args), { signal: context.signal });
  return value as ResultOf<O>;
}

async function listClusterChoices(context: Context): Promise<PromptChoice[]> {
  const { listClusters } = await import("../../api/router/clusters.ts");
  const found = await listChoices("router", listClusters, {}, context);
  return found.map(({ cluster_id: value, cluster_label }) => ({ value, name: `${value}  ${cluster_label}` }));
}

async function listTemplateChoices(context: Context): Promise<PromptChoice[]> {
  const { listTemplates } = await import("../../api/contracts/templates.ts");
  const { items } = await listChoices("contracts", listTemplates, { query: {} }, context);
  return items.map(({ id, name }) => ({ value: String(id), name: `${id}  ${name}` }));
}

async function listContractChoices(context: Context, command: string): Promise<PromptChoice[]> {
  const { listContracts } = await import("../../api/contracts/contract-list.ts");
  const { results } = await listChoices("contracts", listContracts, { query: { limit: 100 } }, context);
  const statuses = statusesFor[command];
  const fitting = results.filter((row) => statuses === undefined || statuses.includes(row.contract_status));
  return fitting.map((row) => ({ value: row.id, name: `${row.id}  ${row.contract_name}  ${row.contract_status}` }));
}

async function listContractNumbers(context: Context, command: string): Promise<PromptChoice[]> {
  const all = await listContractChoices(context, command);
  return all.map(({ value, name }) => ({ value: String(value).replace(/^\D+/, ""), name }));
}

async function listWebhooks(context: Context): Promise<PromptChoice[]> {
  const { listControlWebhooks } = await import("../../api/emulator/webhooks.ts");
  await context.target("contracts");
  const client = await context.client("emulator").catch(() => {
    throw new Error("a service does not list its webhooks");
  });
  const all = await client.call(listControlWebhooks, {}, { signal: context.signal, retries: 0 });
  return all.map(({ id, title, status, url }) => ({ value: String(id), name: `${id}  ${title}  ${status}  ${url}` }));
}

async function listSnapshotChoices(context: Context): Promise<PromptChoice[]> {
  const { listSnapshots } = await import("../../api/emulator/snapshots.ts");
  const client = await context.client("emulator");
  const all = await client.call(listSnapshots, {}, { signal: context.signal, retries: 0 });
  return all.map(({ name }) => ({ value: name, name }));
}

async function listIntakeChoices(context: Context): Promise<PromptChoice[]> {
  return (await fetchNewestIntakes(context)).map(({ id, title, status }) => ({
    value: String(id),
    name: `${id}  ${title}  ${status}`,
  }));
}

/** Lists workflows. An emulator lists all workflows, a service only those of earlier intakes. */
async function listWorkflows(context: Context): Promise<PromptChoice[]> {
  const listed = await listEmulatorWorkflows(context).catch(() => undefined);
  const listUsedWorkflows = async () =>
    (await fetchNewestIntakes(context)).map(({ frozen_workflow: { workflow_id: id, title } }) => ({ id, title }));
  const found = new Map((listed ?? (await listUsedWorkflows())).map(({ id, title }) => [id, title]));
  return [...found].map(([id, title]) => ({ value: String(id), name: `${id}  ${title}` }));
}

async function listEmulatorWorkflows(context: Context) {
  const { listWorkspaces } = await import("../../api/emulator/state.ts");
  const { credentials } = await context.target("contracts");
  const client = await context.client("emulator");
  const all = await client.call(listWorkspaces, {}, { signal: context.signal, retries: 0 });
  return all.find(({ client_id: id }) => id === credentials.clientId)?.intake_workflows;
}

async function listWorkspaceChoices(context: Context): Promise<PromptChoice[]> {
  const { listWorkspaces } = await import("../../api/emulator/state.ts");
  return (await listChoices("emulator", listWorkspaces, {}, context)).map(({ id, name, cluster_id }) => ({
    value: String(id),
    name: `${id}  ${name}  ${cluster_id}`,
  }));
}

async function fetchNewestIntakes(context: Context) {
  const { listIntakes } = await import("../../api/contracts/intake.ts");
  return (await listChoices("contracts", listIntakes, { query: { limit: 100 } }, context)).intakes;
}

/** Lists jobs. For `resume`, only interrupted jobs are listed. */
async function listJobs({ svc }: Context, command: string): Promise<PromptChoice[]> {
  const { out } = await svc(["router", "jobs", "list", "--json"]);
  const jobRows: readonly Record<"id" | "command" | "status", string>[] = JSON.parse(out);
  return jobRows
    .filter(({ status }) => (command === "router jobs resume" ? status === "interrupted" : status !== "damaged"))
    .map(({ id, command, status }) => ({ value: id, name: `${id}  ${command}  ${status}` }));
}

async function listProfiles({ host }: Context): Promise<PromptChoice[]> {
  return Object.keys((await readProfiles(host.env)).profiles).map((value) => ({ value, name: value }));
}
