import type { Operation, ResultOf } from "../../api/operation.ts";
import { lookupTable } from "../../base/object.ts";
import { type CallArguments, CheckedCall } from "../../client/checked-call.ts";
import type { Context } from "../command.ts";
import { readProfiles } from "../connection/profiles/profile.ts";
import { profileSettings } from "../connection/profiles/profile-fields.ts";
import { CommandFailedError, UsageError } from "../process/failure.ts";
import type { PromptChoice } from "./ask.ts";
import { withSpinner } from "./spinner.ts";

/** Source of the options of a field. `command` is the prompting command, such as `contracts send`. */
interface ChoiceSource {
  readonly list: (context: Context, command: string) => Promise<PromptChoice[]>;
  /** Error message for an empty list and the next command. Without them, the user types the value. */
  readonly onEmpty?: (command: string) => readonly [message: string, next?: string];
}

/** A row of a list becomes its identifier and texts about it. */
const toChoice = (value: string | number, ...texts: readonly string[]): PromptChoice => ({
  value: String(value),
  name: [value, ...texts].join("  "),
});

const clusters: ChoiceSource = {
  async list(context) {
    const { listClusters } = await import("../../api/router/clusters.ts");
    const clusters = await fetchList("router", listClusters, {}, context);
    return clusters.map(({ cluster_id, cluster_label }) => toChoice(cluster_id, cluster_label));
  },
  onEmpty: () => ["No clusters found."],
};

const templates: ChoiceSource = {
  async list(context) {
    const { listTemplates } = await import("../../api/contracts/templates.ts");
    const { items } = await fetchList("contracts", listTemplates, { query: {} }, context);
    return items.map(({ id, name }) => toChoice(id, name));
  },
  onEmpty: () => ["No templates found."],
};

const unfinishedStatuses = ["DRAFT", "REDLINING", "SIGN", "ON_HOLD"];

const statusesFor = lookupTable<readonly string[]>({
  "contracts send": ["DRAFT"],
  "contracts void": unfinishedStatuses,
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
  "emulator void": unfinishedStatuses,
});

/** Contracts in a status that the command accepts. `toValue` converts composite IDs. */
const createContractSource = (toValue = (id: string): string => id): ChoiceSource => ({
  async list(context, command) {
    const { listContracts } = await import("../../api/contracts/contract-list.ts");
    const { results } = await fetchList("contracts", listContracts, { query: { limit: 100 } }, context);
    const statuses = statusesFor[command];
    return results
      .filter((row) => statuses === undefined || statuses.includes(row.contract_status))
      .map((row) => ({ ...toChoice(row.id, row.contract_name, row.contract_status), value: toValue(row.id) }));
  },
  onEmpty(command) {
    const statuses = statusesFor[command]?.join(", ");
    if (statuses === undefined) return ["No contracts found.", "contracts create"];
    return [`svc ${command} requires a contract in status ${statuses}. None found.`, "contracts list"];
  },
});

const contracts = createContractSource();
const contractNumbers = createContractSource((id) => id.replace(/^\D+/, ""));

const intakes: ChoiceSource = {
  list: async (context) => (await fetchIntakes(context)).map(({ id, title, status }) => toChoice(id, title, status)),
  onEmpty: () => ["No intakes found.", "intake create"],
};

/** An emulator lists all workflows, a service only those of earlier intakes. */
const workflows: ChoiceSource = {
  async list(context) {
    const emulatorWorkflows = await fetchEmulatorWorkflows(context).catch(() => undefined);
    const workflows = emulatorWorkflows?.map(({ id, title }) => [id, title] as const);
    const listUsedWorkflows = async () =>
      (await fetchIntakes(context)).map(({ frozen_workflow: { workflow_id, title } }) => [workflow_id, title] as const);
    return [...new Map(workflows ?? (await listUsedWorkflows()))].map(([id, title]) => toChoice(id, title));
  },
};

const webhooks: ChoiceSource = {
  async list(context) {
    const { listControlWebhooks } = await import("../../api/emulator/webhooks.ts");
    await context.target("contracts");
    const client = await context.client("emulator").catch(() => {
      throw new Error("a service does not list its webhooks");
    });
    const all = await client.call(listControlWebhooks, {}, { retries: 0 });
    return all.map(({ id, title, status, url }) => toChoice(id, title, status, url));
  },
  onEmpty: () => ["No webhooks found.", "webhooks listen"],
};

const snapshots: ChoiceSource = {
  async list(context) {
    const { listSnapshots } = await import("../../api/emulator/snapshots.ts");
    const all = await fetchList("emulator", listSnapshots, {}, context);
    return all.map(({ name }) => toChoice(name));
  },
  onEmpty: () => ["No snapshots found.", "emulator snapshot save"],
};

const workspaces: ChoiceSource = {
  async list(context) {
    const { listWorkspaces } = await import("../../api/emulator/state.ts");
    const all = await fetchList("emulator", listWorkspaces, {}, context);
    return all.map(({ id, name, cluster_id }) => toChoice(id, name, cluster_id));
  },
};

/** For `resume`, only interrupted jobs are listed. */
const jobs: ChoiceSource = {
  async list({ svc }, command) {
    const { stdout } = await svc(["router", "jobs", "list", "--json"]);
    const rows: readonly Record<"id" | "command" | "status", string>[] = JSON.parse(stdout);
    return rows
      .filter(({ status }) => (command === "router jobs resume" ? status === "interrupted" : status !== "damaged"))
      .map((row) => toChoice(row.id, row.command, row.status));
  },
  onEmpty: (command) => [command === "router jobs resume" ? "No stopped jobs found." : "No jobs found."],
};

const profiles: ChoiceSource = {
  list: async ({ host }) => Object.keys((await readProfiles(host.env)).profiles).map((name) => toChoice(name)),
  onEmpty: () => ["No profiles found.", "config set"],
};

const settings: ChoiceSource = {
  list: async () => profileSettings.map(({ key, label: description }) => toChoice(key, description)),
};

const sources = lookupTable<ChoiceSource>({
  cluster_id: clusters,
  cluster: clusters,
  template_id: templates,
  contract_template_id: templates,
  composite_id: contracts,
  intake_id: intakes,
  workflow_id: workflows,
  profile: profiles,
});

/** Sources of fields that have another meaning in a group. */
const groupSources = lookupTable<ChoiceSource>({
  "router job": jobs,
  "contracts contract_id": contractNumbers,
  "webhooks contract_ids": contractNumbers,
  "webhooks webhook_id": webhooks,
  "emulator workspace_id": workspaces,
  "config key": settings,
});

/** Lists the declared or existing options of a field, unless any value is valid. Throws if there is none. */
export async function findChoices(
  field: string,
  declaredChoices: readonly string[] | undefined,
  context: Context,
  command: string,
): Promise<readonly PromptChoice[] | undefined> {
  if (declaredChoices) return declaredChoices.map((value) => toChoice(value));
  const source = findSource(field, command);
  if (!source) return undefined;
  const choices = await withSpinner(context, "Loading the choices", () => source.list(context, command)).catch(
    (error: unknown) => {
      if (context.signal.aborted || error instanceof UsageError || error instanceof CommandFailedError) throw error;
      // Other errors recur and are reported when the command runs. The user types the value instead.
      return undefined;
    },
  );
  const [message, next] = (choices?.length === 0 && source.onEmpty?.(command)) || [];
  if (message === undefined) return choices;
  throw new CommandFailedError("not-found", "nothing_to_choose", message, { next: next?.split(" ") });
}

function findSource(field: string, command: string): ChoiceSource | undefined {
  if (field === "id" && Object.hasOwn(statusesFor, command)) return contracts;
  if (field === "name" && /^emulator snapshot (?!save)/.test(command)) return snapshots;
  return groupSources[`${command.split(" ")[0]} ${field}`] ?? sources[field];
}

async function fetchList<O extends Operation>(
  service: "router" | "contracts" | "emulator",
  operation: O,
  args: CallArguments,
  { client }: Context,
): Promise<ResultOf<O>> {
  // An emulator is on this machine or does not respond, and a prompt must not wait for retries.
  const retries = service === "emulator" ? { retries: 0 } : {};
  const { value } = await (await client(service)).send(CheckedCall.check(operation, args), retries);
  return value as ResultOf<O>;
}

async function fetchEmulatorWorkflows(context: Context) {
  const { listWorkspaces } = await import("../../api/emulator/state.ts");
  const { credentials } = await context.target("contracts");
  const all = await fetchList("emulator", listWorkspaces, {}, context);
  return all.find(({ client_id: id }) => id === credentials.clientId)?.intake_workflows;
}

async function fetchIntakes(context: Context) {
  const { listIntakes } = await import("../../api/contracts/intake.ts");
  return (await fetchList("contracts", listIntakes, { query: { limit: 100 } }, context)).intakes;
}
