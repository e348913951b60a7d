import { showWorkspaceRouting } from "../../../api/emulator/state.ts";
import { deleteWorkspaceData } from "../../../api/router/clusters.ts";
import { toFields } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import type { CheckedCall } from "../../../client/checked-call.ts";
import { createIntegerFlag, createTextFlag, type FlagSpec } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { isEmulator } from "../../connection/target.ts";
import { CommandFailedError, type FailureKind, InputRequiredError, UsageError } from "../../process/failure.ts";
import { createExample } from "../../process/shell-words.ts";
import { confirmName } from "../../prompt/confirm.ts";
import { runDerivedCommand } from "../../runtime/derived-command.ts";
import { type BulkInput, createBulkFlags, hashFlag, readBulkOptions, rejectFlagsWithApply } from "./bulk/flags.ts";
import { type EmailHashing, toIdentifier } from "./bulk/input/identifiers.ts";
import { requireLookup } from "./bulk/lookup.ts";
import { readPlannedRequest } from "./bulk/plan.ts";
import { startJob } from "./bulk/start-job.ts";
import { formatOutcome, offboardJobKind, offboardKinds, requireConfirmed } from "./bulk/work.ts";

/** A workspace fits in one request, and so in one transaction, unless it is huge. */
const defaultBatchSize = 10_000;

const flags = [
  createTextFlag("from", "FILE|-", "File with the kinds and identifiers of the workspace"),
  createIntegerFlag("workspace", "Remove all routing data of this workspace from an emulator", { placeholder: "ID" }),
  createTextFlag("confirm", "NAME", "Confirm the cluster ID"),
  hashFlag,
  ...createBulkFlags(defaultBatchSize),
] as const satisfies readonly FlagSpec[];

const workspaceFlags: ReadonlySet<string> = new Set(["workspace", "confirm", "verify"]);

/** Command that removes all identifiers of a workspace. A file becomes a job, and derived flags become one request. */
const routerOffboard = defineCommand({
  words: ["router", "offboard"],
  summary: "Delete all routing data of one workspace",
  description: [
    "Removes the identifiers of a workspace from every table of the cluster. A file names a kind and an identifier in",
    "each row: lines such as “email ada@example.com”, the columns or fields kind and identifier, or the output of svc router resolve.",
    `Kinds: ${Object.keys(offboardKinds).join(", ")}.`,
    `Each call is one transaction; up to ${defaultBatchSize} rows are one call.`,
  ].join(" "),
  extendsDerived: true,
  readsDerived: { flags: [{ flag: "dry-run", type: "switch" }] },
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
    createExample("Remove all identifiers in a file", "router offboard eu-1 --from workspace.csv --confirm eu-1"),
    createExample(
      "Remove all routing data of a workspace on an emulator",
      "router offboard --workspace 1 --confirm eu-1 --verify",
    ),
  ],
  async run(input, context, spec) {
    const cluster = input.positionals.cluster_id;
    const { confirm: confirmedName, from, apply, workspace } = input.flags;
    if (workspace !== undefined) {
      const conflictingFlag = flags.find(({ flag }) => !workspaceFlags.has(flag) && input.flags[flag] !== undefined);
      if (conflictingFlag) throw new UsageError(`--workspace cannot be used with --${conflictingFlag.flag}`);
      return offboardWorkspace(workspace, cluster, input.flags, context);
    }
    if (cluster === undefined) throw new InputRequiredError("cluster_id", "<cluster-id> is required");
    if (from === undefined && apply === undefined) {
      const getCounts = ({ args }: CheckedCall) => ({
        ...offboardJobKind,
        cluster,
        ...countIdentifiers(toFields(args.body)),
      });
      return runDerivedCommand(spec!, input, context, {
        sign: (requestedCall) =>
          requestedCall.with({
            body: toIdentifiedBody(toFields(requestedCall.args.body), input.flags.hash ?? "sha256"),
          }),
        confirm: () =>
          confirmName(`Delete routing data of a workspace from ${cluster}`, cluster, confirmedName, context),
        check: ({ value }, sent) => requireConfirmed(value, getCounts(sent)),
        formatOutcome: (sent) => formatOutcome(getCounts(sent)),
      });
    }
    if (apply !== undefined) {
      rejectFlagsWithApply(flags, input);
      const request = await readPlannedRequest(offboardJobKind, undefined, { ...input.flags, apply }, context);
      const plannedCluster = request.scope.cluster_id!;
      if (!request.dryRun)
        await confirmName(
          `Delete the identifiers of the plan from ${plannedCluster}`,
          plannedCluster,
          cluster,
          context,
        );
      return startJob(request, context);
    }
    return startJob(
      {
        ...readBulkOptions(input, from!, defaultBatchSize),
        work: offboardJobKind,
        path: from!,
        columns: offboardJobKind.columns!,
        scope: { cluster_id: cluster },
        confirmRows: (rows) =>
          confirmName(
            `Delete ${rows === undefined ? "all identifiers" : pluralize(rows, "identifier")} of a workspace from ${cluster}`,
            cluster,
            confirmedName,
            context,
          ),
      },
      context,
    );
  },
});

function toIdentifiedBody(body: Readonly<Record<string, unknown>>, hash: EmailHashing): Record<string, unknown> {
  const identifiedBody: Record<string, unknown> = { ...body };
  for (const { field, getKind } of Object.values(offboardKinds)) {
    const list = (value: unknown) =>
      [value].flat().map((identifier) => toIdentifier(getKind(hash), String(identifier)));
    if (field === "external_integrations" && Array.isArray(body[field])) {
      identifiedBody[field] = body[field].map((integration) => ({
        ...integration,
        external_id_list: list(toFields(integration).external_id_list),
      }));
    } else if (body[field] !== undefined) identifiedBody[field] = list(body[field]);
  }
  return identifiedBody;
}

function countIdentifiers(body: Readonly<Record<string, unknown>>): {
  readonly rows: number;
  readonly distinct: number;
} {
  const lists = Object.values(offboardKinds).map(({ field }) => [body[field] ?? []].flat());
  const identifiers = lists.map((list) => list.flatMap((entry) => toFields(entry).external_id_list ?? entry));
  const addUp = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
  return {
    rows: addUp(identifiers.map((list) => list.length)),
    distinct: addUp(identifiers.map((list) => new Set(list).size)),
  };
}

export const commands: readonly Command[] = [routerOffboard];

async function offboardWorkspace(
  workspaceId: number,
  expectedCluster: string | undefined,
  {
    confirm,
    verify,
    "dry-run": dryRun,
  }: Pick<BulkInput["flags"], "verify" | "dry-run"> & { readonly confirm?: string },
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
  const cluster = routing.cluster_id;
  if (expectedCluster !== undefined && expectedCluster !== cluster) {
    throw new UsageError(`Workspace ${workspaceId} belongs to cluster ${cluster}, not to ${expectedCluster}`);
  }
  const reading = { hash: "none", scope: { cluster_id: cluster } } as const;
  const kind = offboardJobKind.getKind(reading);
  const rows = Object.entries(offboardKinds).flatMap(([name, { table }]) =>
    routing[table as "cluster_emails"].map((key) => `${name} ${key}`),
  );
  const shownRows = rows.map((row) => {
    const [name = "", identifier = ""] = kind.toShown(row).split(" ");
    return { kind: name, identifier };
  });
  const fields = ["kind", "identifier"];
  const emptyMessage = `Nothing is mapped to workspace ${workspaceId}`;
  if (dryRun || rows.length === 0 || output.format === "table")
    await output.show(shownRows, { fields, columns: fields, emptyMessage });
  if (dryRun) await output.note("Dry run: nothing was sent");
  if (dryRun || rows.length === 0) return undefined;
  const findClusters = verify ? await requireLookup(offboardJobKind, context) : undefined;
  const subject = pluralize(rows.length, "identifier");
  await confirmName(`Delete ${subject} of ${routing.name} from ${cluster}`, cluster, confirm, context);
  const values = rows.map(kind.toValue);
  const router = await context.client("router");
  const { params, body } = offboardJobKind.toArguments(values, reading.scope);
  const response: unknown = await router.call(deleteWorkspaceData, { params, body } as never);
  const outcome = { ...offboardJobKind, cluster, rows: rows.length };
  requireConfirmed(response, outcome);
  const clusters = await findClusters?.(values);
  const remainingCount = values.filter((value) => clusters?.get(value) === cluster).length;
  if (output.format === "table") await output.print(formatOutcome(outcome));
  else {
    const verifiedCount = clusters ? values.length - remainingCount : null;
    const signatories = routing.signatories.length;
    await output.show({
      workspace_id: workspaceId,
      cluster_id: cluster,
      identifiers: shownRows,
      verified: verifiedCount,
      signatories,
    });
  }
  if (clusters)
    await output.note(`Looked up: ${values.length - remainingCount} of ${subject} not mapped to ${cluster}`);
  if (routing.signatories.length > 0) {
    const hashes = pluralize(routing.signatories.length, "signatory hash", "signatory hashes");
    await output.note(`${hashes} not removed. To remove them: svc emulator remove-signatories`);
  }
  if (remainingCount === 0) return undefined;
  throw new CommandFailedError(
    "partial",
    "not_verified",
    `${pluralize(remainingCount, "identifier")} still mapped to ${cluster}.`,
  );
}
