import { showWorkspaceRouting } from "../../../api/emulator/state.ts";
import { deleteWorkspaceData } from "../../../api/router/clusters.ts";
import { toFields } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import type { CheckedCall } from "../../../client/checked-call.ts";
import { type CommandSpec, createIntegerFlag, createTextFlag, type FlagSpec } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { isEmulator } from "../../connection/target.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { CommandFailedError, type FailureKind, InputRequiredError, UsageError } from "../../process/failure.ts";
import { confirmName } from "../../prompt/terminal.ts";
import { runDerivedCommand } from "../../runtime/derived-command.ts";
import { type EmailHashing, hashFlag, toIdentifier } from "./bulk/identifiers.ts";
import { formatOutcome, offboardJobKind, offboardKinds, requireConfirmed } from "./bulk/job-kinds.ts";
import { requireLookup } from "./bulk/lookup.ts";
import { createBulkFlags, readBulkOptions, readPlannedRequest } from "./bulk/plan.ts";
import { startJob } from "./bulk/start-job.ts";

/** A workspace fits in one request, and so in one transaction, unless it is huge. */
const defaultBatchSize = 10_000;

const flags = [
  createTextFlag("from", "FILE|-", "File with the kinds and identifiers of the workspace"),
  createIntegerFlag("workspace", "Remove all routing data of this workspace from an emulator", { placeholder: "ID" }),
  createTextFlag("confirm", "NAME", "Confirm the cluster ID"),
  hashFlag,
  ...createBulkFlags(defaultBatchSize),
] as const satisfies readonly FlagSpec[];

const dryRunFlag = { flag: "dry-run", type: "switch" } as const;

type OffboardInput = CommandInputOf<readonly [...typeof flags, typeof dryRunFlag]>;

const workspaceFlags: ReadonlySet<string> = new Set(["workspace", "confirm", "verify"]);

/** Command that removes all identifiers of a workspace. A file becomes a job, and derived flags become one request. */
const routerOffboard = defineCommand({
  words: ["router", "offboard"],
  description: `Removes the identifiers of a workspace from every table of the cluster. A file names a kind and an identifier in each row: lines such as “email ada@example.com”, the columns or fields kind and identifier, or the output of svc router resolve. Kinds: ${Object.keys(offboardKinds).join(", ")}. Each request is one transaction of at most --batch-size rows.`,
  extendsDerived: true,
  readsDerived: { flags: [dryRunFlag] },
  bodyFrom: ["from", "apply", "workspace"],
  positionals: [
    {
      name: "cluster_id",
      description: "Cluster of the workspace (default: the cluster of --workspace)",
      optional: true,
    },
  ],
  flags,
  examples: [
    ["Remove all identifiers in a file", "router offboard eu-1 --from workspace.csv --confirm eu-1"],
    ["Remove all routing data of a workspace on an emulator", "router offboard --workspace 1 --confirm eu-1 --verify"],
  ],
  async run(input, context, spec) {
    const cluster = input.positionals.cluster_id;
    const { from, apply, workspace } = input.flags;
    if (workspace !== undefined) {
      const conflictingFlag = flags.find(({ flag }) => !workspaceFlags.has(flag) && input.flags[flag] !== undefined);
      if (conflictingFlag) throw new UsageError(`--workspace cannot be used with --${conflictingFlag.flag}`);
      return offboardWorkspace(workspace, cluster, input, context);
    }
    if (cluster === undefined) throw new InputRequiredError("cluster_id", "<cluster-id> is required");
    if (apply !== undefined) return offboardPlan(cluster, input, context);
    if (from !== undefined) return offboardFile(from, cluster, input, context);
    return offboardFew(spec!, cluster, input, context);
  },
});

async function offboardPlan(cluster: string, input: OffboardInput, context: Context) {
  const request = await readPlannedRequest(offboardJobKind, undefined, flags, input, context);
  const name = request.scope.cluster_id!;
  if (!request.dryRun) await confirmName(`Delete the identifiers of the plan from ${name}`, name, cluster, context);
  return startJob(request, context);
}

async function offboardFile(path: string, cluster: string, input: OffboardInput, context: Context) {
  return startJob(
    {
      ...readBulkOptions(input, path, defaultBatchSize),
      ...{ work: offboardJobKind, path, columns: offboardJobKind.columns!, scope: { cluster_id: cluster } },
      confirmRows(rows) {
        const subject = rows === undefined ? "all identifiers" : pluralize(rows, "identifier");
        const action = `Delete ${subject} of a workspace from ${cluster}`;
        return confirmName(action, cluster, input.flags.confirm, context);
      },
    },
    context,
  );
}

async function offboardFew(spec: CommandSpec, cluster: string, input: OffboardInput, context: Context) {
  const getOutcome = ({ args }: CheckedCall) => {
    const lists = Object.values(offboardKinds).map(({ field }) => [toFields(args.body)[field] ?? []].flat());
    const identifiers = lists.map((list) => list.flatMap((entry) => toFields(entry).external_id_list ?? entry));
    const rows = identifiers.flat().length;
    const distinct = identifiers.flatMap((list) => [...new Set(list)]).length;
    return { ...offboardJobKind, cluster, rows, distinct };
  };
  const action = `Delete routing data of a workspace from ${cluster}`;
  return runDerivedCommand(spec, input, context, {
    sign(call) {
      if (getOutcome(call).rows === 0)
        throw new InputRequiredError("from", "--from, --workspace or an option with identifiers is required");
      return call.with({ body: toIdentifiedBody(toFields(call.args.body), input.flags.hash ?? "sha256") });
    },
    confirm: () => confirmName(action, cluster, input.flags.confirm, context),
    check: ({ value }, sentCall) => requireConfirmed(value, getOutcome(sentCall)),
    formatOutcome: (sentCall) => formatOutcome(getOutcome(sentCall)),
  });
}

function toIdentifiedBody(body: Readonly<Record<string, unknown>>, hash: EmailHashing): Record<string, unknown> {
  const identifiedBody: Record<string, unknown> = { ...body };
  for (const { field, getKind } of Object.values(offboardKinds)) {
    const identify = (value: unknown) =>
      [value].flat().map((identifier) => toIdentifier(getKind(hash), String(identifier)));
    if (field === "external_integrations" && Array.isArray(body[field])) {
      identifiedBody[field] = body[field].map((integration) => ({
        ...integration,
        external_id_list: identify(toFields(integration).external_id_list),
      }));
    } else if (body[field] !== undefined) identifiedBody[field] = identify(body[field]);
  }
  return identifiedBody;
}

async function offboardWorkspace(
  workspaceId: number,
  expectedCluster: string | undefined,
  { flags: { confirm, verify, "dry-run": dryRun } }: OffboardInput,
  context: Context,
): Promise<FailureKind | undefined> {
  const { output } = context;
  if (!(await isEmulator(context))) {
    throw new UsageError(
      "--workspace requires an emulator. Other services do not list the identifiers of a workspace",
      { hint: "List the identifiers in a file: --from FILE." },
    );
  }
  const control = await context.client("emulator");
  const routing = await control.call(showWorkspaceRouting, { params: { workspace_id: workspaceId } });
  const { cluster_id: cluster, name: workspaceName, signatories } = routing;
  if (expectedCluster !== undefined && expectedCluster !== cluster) {
    throw new UsageError(`Workspace ${workspaceId} belongs to cluster ${cluster}, not to ${expectedCluster}`);
  }
  const scope = { cluster_id: cluster };
  const kind = offboardJobKind.getKind({ hash: "none", scope });
  const rows = Object.entries(offboardKinds).flatMap(([name, { table }]) =>
    routing[table as "cluster_emails"].map((key) => `${name} ${key}`),
  );
  const identifiers = rows.map((row) => {
    const [kindName = "", identifier = ""] = kind.toShown(row).split(" ");
    return { kind: kindName, identifier };
  });
  const fields = ["kind", "identifier"];
  const emptyMessage = `Nothing is mapped to workspace ${workspaceId}`;
  if (dryRun || rows.length === 0 || output.format === "table")
    await output.show(identifiers, { fields, columns: fields, emptyMessage });
  if (dryRun) await output.note("Dry run: nothing was sent");
  if (dryRun || rows.length === 0) return undefined;
  const findClusters = verify ? await requireLookup(offboardJobKind, context) : undefined;
  const subject = pluralize(rows.length, "identifier");
  await confirmName(`Delete ${subject} of ${workspaceName} from ${cluster}`, cluster, confirm, context);
  const values = rows.map(kind.toValue);
  const router = await context.client("router");
  const response: unknown = await router.call(deleteWorkspaceData, offboardJobKind.toArguments(values, scope) as never);
  const outcome = { ...offboardJobKind, cluster, rows: rows.length, distinct: new Set(values).size };
  requireConfirmed(response, outcome);
  const clusters = await findClusters?.(values);
  const remainingCount = values.filter((value) => clusters?.get(value) === cluster).length;
  const removedCount = values.length - remainingCount;
  if (output.format === "table") await output.print(formatOutcome(outcome));
  else {
    await output.show({
      ...{ workspace_id: workspaceId, cluster_id: cluster, identifiers, verified: clusters ? removedCount : null },
      signatories: signatories.length,
    });
  }
  if (clusters) await output.note(`Looked up: ${removedCount} of ${subject} not mapped to ${cluster}`);
  if (signatories.length > 0) {
    const hashes = pluralize(signatories.length, "signatory hash", "signatory hashes");
    await output.note(`${hashes} not removed. To remove them: svc emulator remove-signatories`);
  }
  if (remainingCount === 0) return undefined;
  const message = `${pluralize(remainingCount, "identifier")} still mapped to ${cluster}.`;
  throw new CommandFailedError("partial", "not_verified", message);
}

export const commands: readonly Command[] = [routerOffboard];
