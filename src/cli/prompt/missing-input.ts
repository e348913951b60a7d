import { contractStatuses, lifecycle, type Trigger } from "../../api/contracts/lifecycle.ts";
import type { Operation, ResultOf } from "../../api/operation.ts";
import { lookupTable } from "../../base/object.ts";
import { capitalize } from "../../base/text.ts";
import { type CallArguments, CheckedCall } from "../../client/checked-call.ts";
import type { FlagSpec, PositionalSpec } from "../../derive/command-spec.ts";
import type { Context } from "../command.ts";
import { profileSettings, readProfiles } from "../connection/profiles/profile.ts";
import type { CommandInput, MissingInput } from "../parse/declaration.ts";
import { convertValue, findAddressProblem, parsePositional } from "../parse/values.ts";
import { CommandFailedError, UsageError } from "../process/failure.ts";
import { askChoice, askSecret, askSeveral, askText, askYesNo, type PromptChoice, type PromptValidator } from "./ask.ts";
import { withSpinner } from "./terminal.ts";

/** Prompts for the missing input of `command`. Callers check first that prompts are allowed. */
export async function askForMissing(missing: MissingInput, input: CommandInput, context: Context, command: string) {
  const positionals: Record<string, unknown> = { ...input.positionals };
  for (const positional of missing.positionals) {
    const answer = String(await promptForInput(positional.name, positional, context, command));
    const words = positional.variadic ? splitWords(answer) : answer;
    positionals[positional.name] = parsePositional(positional, words);
  }
  const flags: Record<string, unknown> = { ...input.flags };
  for (const spec of [...missing.flags, ...missing.body]) {
    const { flag, type, choices, repeatable } = spec;
    const answer = await promptForInput(spec.target?.name ?? flag, spec, context, command);
    const values = [answer].flat().map((value) => {
      return typeof value === "string" && type !== "switch" ? convertValue(`--${flag}`, value, type, choices) : value;
    });
    flags[flag] = repeatable || typeof answer === "object" ? values : values[0];
  }
  return { ...input, positionals, flags };
}

const splitWords = (text: string): string[] => text.split(/\s+/).filter(Boolean);

/** Prompts for one of several flags and its value. */
export async function askForOneOf(flags: readonly FlagSpec[], input: CommandInput, context: Context, command: string) {
  const choices = flags.map((spec) => ({ value: spec, name: `--${spec.flag}  ${spec.description}` }));
  const spec = await askChoice("One of these options is required:", choices, context);
  if (spec.type === "boolean" || spec.type === "switch")
    return { ...input, flags: { ...input.flags, [spec.flag]: true } };
  return askForMissing({ positionals: [], flags: [spec], body: [] }, input, context, command);
}

type InputSpec = PositionalSpec | FlagSpec;

async function promptForInput(field: string, spec: InputSpec, context: Context, command: string) {
  const question = formatQuestion(field, spec);
  const type = spec.type ?? "text";
  if (type === "boolean" || type === "switch") return askYesNo(question, context);
  const choices = await findChoices(field, spec.choices, context, command);
  if (choices && choices.length > 0) {
    return "repeatable" in spec && spec.repeatable && choices.length > 1
      ? askSeveral(question, choices, true, context)
      : askChoice(question, choices, context);
  }
  const isSecret = "isSecret" in spec || /secret|password/.test(field);
  if (isSecret && !/file$/.test(field)) return askSecret(question, context);
  return askText(question, context, createPromptValidator(field, { ...spec, type }));
}

const formatQuestion = (field: string, spec: InputSpec): string => {
  const name = field.replaceAll("_", " ").replaceAll("-", " ");
  const title = capitalize(name);
  const description = "isBase64" in spec ? `${spec.description}, or @FILE` : spec.description;
  return description && description.toLowerCase() !== name ? `${title} (${description}):` : `${title}:`;
};

/** The prompt rejects values that the command would reject later. */
const createPromptValidator =
  (
    field: string,
    { type = "text", choices, variadic }: Omit<PositionalSpec, "name" | "description">,
  ): PromptValidator =>
  (text) => {
    if (text.trim() === "") return "A value is required (press Ctrl-C to cancel).";
    try {
      for (const word of variadic ? splitWords(text) : [text]) convertValue("This", word, type, choices);
      return (field === "url" && findAddressProblem(text)) || true;
    } catch (error) {
      return `${(error as Error).message}.`;
    }
  };

/** Lists the options of a field for the prompting command, such as `contracts send`. */
type ChoiceSource = (context: Context, command: string) => Promise<readonly PromptChoice[]>;

/** A row of a list becomes its identifier and texts about it. */
const toChoice = (value: string | number, ...texts: readonly string[]): PromptChoice => ({
  value: String(value),
  name: [value, ...texts].join("  "),
});

function requireChoices(choices: readonly PromptChoice[], emptyMessage: string, next?: string) {
  if (choices.length > 0) return choices;
  throw new CommandFailedError("not-found", "nothing_to_choose", emptyMessage, { next: next?.split(" ") });
}

const listClusterChoices: ChoiceSource = async (context) => {
  const { listClusters } = await import("../../api/router/clusters.ts");
  const clusters = await fetchList("router", listClusters, {}, context);
  const choices = clusters.map(({ cluster_id, cluster_label }) => toChoice(cluster_id, cluster_label));
  return requireChoices(choices, "No clusters found.");
};

const listTemplateChoices: ChoiceSource = async (context) => {
  const { listTemplates } = await import("../../api/contracts/templates.ts");
  const { items } = await fetchList("contracts", listTemplates, { query: {} }, context);
  const choices = items.map(({ id, name }) => toChoice(id, name));
  return requireChoices(choices, "No templates found.");
};

/** Moves of the lifecycle, by the last word of the commands that make them or depend on them. */
const triggersByVerb = lookupTable<Trigger>({
  send: "send",
  "resend-email": "sign",
  mark: "mark-for-execution",
  unmark: "unmark-for-execution",
  "request-review": "request-review",
  "complete-review": "complete-review",
  "request-approval": "request-approval",
  approve: "approve",
  sign: "sign",
  decline: "decline",
  hold: "hold",
  resume: "resume",
  void: "void",
});

/** Returns the statuses in which a contract can be the object of a command. Undefined if every status is possible. */
function findStatuses(command: string): readonly string[] | undefined {
  const trigger = triggersByVerb[command.split(" ").at(-1)!];
  if (trigger === undefined) return undefined;
  return contractStatuses.filter((status) =>
    lifecycle.some((row) => row.trigger === trigger && "to" in row && row.from.some((from) => from === status)),
  );
}

const listContractChoices: ChoiceSource = async (context, command) => {
  const { listContracts } = await import("../../api/contracts/contract-list.ts");
  const statuses = findStatuses(command);
  const filter = statuses && { "filter__display_status[$in]": statuses.join(",") };
  const query = { limit: 100, ...filter };
  const { results } = await fetchList("contracts", listContracts, { query }, context);
  const choices = results.map((row) => toChoice(row.id, row.contract_name, row.contract_status));
  if (statuses === undefined) return requireChoices(choices, "No contracts found.", "contracts create");
  const message = `svc ${command} requires a contract in status ${statuses.join(", ")}. None found.`;
  return requireChoices(choices, message, statuses.includes("DRAFT") ? "contracts create" : "contracts list");
};

const listContractNumberChoices: ChoiceSource = async (context, command) =>
  (await listContractChoices(context, command)).map(({ value, name }) => ({ name, value: value.replace(/^\D+/, "") }));

const listSnapshotChoices: ChoiceSource = async (context) => {
  const { listSnapshots } = await import("../../api/emulator/snapshots.ts");
  const choices = (await fetchList("emulator", listSnapshots, {}, context)).map(({ name }) => toChoice(name));
  return requireChoices(choices, "No snapshots found.", "emulator snapshot save");
};

const sources = lookupTable<ChoiceSource>({
  cluster_id: listClusterChoices,
  cluster: listClusterChoices,
  template_id: listTemplateChoices,
  contract_template_id: listTemplateChoices,
  composite_id: listContractChoices,
  async intake_id(context) {
    const choices = (await fetchIntakes(context)).map(({ id, title, status }) => toChoice(id, title, status));
    return requireChoices(choices, "No intakes found.", "intake create");
  },
  /** An emulator lists all workflows, a service only those of earlier intakes. */
  async workflow_id(context) {
    const emulatorWorkflows = await fetchEmulatorWorkflows(context).catch(() => undefined);
    const workflows =
      emulatorWorkflows?.map(({ id, title }) => [id, title] as const) ??
      (await fetchIntakes(context)).map(({ frozen_workflow: { workflow_id, title } }) => [workflow_id, title] as const);
    return [...new Map(workflows)].map(([id, title]) => toChoice(id, title));
  },
  async profile({ host }) {
    const choices = Object.keys((await readProfiles(host.env)).profiles).map((name) => toChoice(name));
    return requireChoices(choices, "No profiles found.", "config set");
  },
  // Fields that have another meaning in a group.
  "contracts contract_id": listContractNumberChoices,
  "webhooks contract_ids": listContractNumberChoices,
  /** For `resume`, only interrupted jobs are listed. */
  async "router job"({ svc }, command) {
    const isResuming = command === "router jobs resume";
    const { stdout } = await svc(["router", "jobs", "list", "--json"]);
    const rows: readonly { id: string; command: string | null; status: string }[] = JSON.parse(stdout);
    // The command of an unreadable job is unknown.
    const choices = rows.flatMap(({ id, command, status }) =>
      command === null || (isResuming && status !== "interrupted") ? [] : toChoice(id, command, status),
    );
    return requireChoices(choices, isResuming ? "No stopped jobs found." : "No jobs found.");
  },
  async "webhooks webhook_id"(context) {
    const { listControlWebhooks } = await import("../../api/emulator/webhooks.ts");
    await context.target("contracts");
    const client = await context.client("emulator").catch(() => {
      throw new Error("a service does not list its webhooks");
    });
    const all = await client.call(listControlWebhooks, {}, { retries: 0 });
    const choices = all.map(({ id, title, status, url }) => toChoice(id, title, status, url));
    return requireChoices(choices, "No webhooks found.", "webhooks listen");
  },
  async "emulator workspace_id"(context) {
    const { listWorkspaces } = await import("../../api/emulator/state.ts");
    const all = await fetchList("emulator", listWorkspaces, {}, context);
    return all.map(({ id, name, cluster_id }) => toChoice(id, name, cluster_id));
  },
  "config key": async () => profileSettings.map(({ key, label }) => toChoice(key, label)),
});

/** Lists the declared or existing options of a field, unless any value is valid. Throws if there is none. */
export async function findChoices(
  field: string,
  declaredChoices: readonly string[] | undefined,
  context: Context,
  command: string,
): Promise<readonly PromptChoice[] | undefined> {
  if (declaredChoices) return declaredChoices.map((value) => toChoice(value));
  const listChoices = findSource(field, command);
  if (!listChoices) return undefined;
  return withSpinner(context, "Loading the choices", () => listChoices(context, command)).catch((error: unknown) => {
    if (context.signal.aborted || error instanceof UsageError || error instanceof CommandFailedError) throw error;
    // Other errors recur and are reported when the command runs. The user types the value instead.
    return undefined;
  });
}

function findSource(field: string, command: string): ChoiceSource | undefined {
  if (field === "id" && findStatuses(command)) return listContractChoices;
  if (field === "name" && /^emulator snapshot (?!save)/.test(command)) return listSnapshotChoices;
  return sources[`${command.split(" ")[0]} ${field}`] ?? sources[field];
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
