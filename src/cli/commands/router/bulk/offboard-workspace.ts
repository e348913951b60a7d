import { showWorkspaceRouting } from "../../../../api/emulator/state.ts";
import { deleteWorkspaceData } from "../../../../api/router/clusters.ts";
import { pluralize } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { isEmulator } from "../../../connection/is-emulator.ts";
import { CommandFailedError, type FailureKind, UsageError } from "../../../process/failure.ts";
import { confirmName } from "../../../prompt/confirm.ts";
import { requireLookup } from "./lookup.ts";
import { offboardKinds, offboardWork } from "./offboard-work.ts";
import { formatOutcome, requireConfirmed } from "./work.ts";

interface Options {
  readonly workspaceId: number;
  /** If it is named. */
  readonly cluster: string | undefined;
  readonly confirm: string | undefined;
  readonly dryRun: boolean;
  readonly verify: boolean;
}

/** Removes the routing data that an emulator knows of a workspace: shows it first, and asks. */
export async function offboardWorkspace(options: Options, context: Context): Promise<FailureKind | undefined> {
  const { workspaceId, dryRun, verify } = options;
  const { output } = context;
  if (!(await isEmulator(context))) {
    throw new UsageError(
      "--workspace requires an emulator. Other services do not list the identifiers of a workspace",
      {
        hint: "List the identifiers in a file: --from FILE.",
      },
    );
  }
  const control = await context.client("emulator");
  const routing = await control.call(showWorkspaceRouting, { params: { workspace_id: workspaceId } });
  const cluster = routing.cluster_id;
  if (options.cluster !== undefined && options.cluster !== cluster) {
    throw new UsageError(`Workspace ${workspaceId} belongs to cluster ${cluster}, not to ${options.cluster}`);
  }
  const reading = { hash: "none", scope: { cluster_id: cluster } } as const;
  const kind = offboardWork.kind(reading);
  const rows = Object.entries(offboardKinds).flatMap(([name, { table }]) =>
    routing[table as "cluster_emails"].map((key) => `${name} ${key}`),
  );
  const shown = rows.map((row) => {
    const [name = "", identifier = ""] = kind.shown(row).split(" ");
    return { kind: name, identifier };
  });
  const fields = ["kind", "identifier"];
  const none = `Nothing is mapped to workspace ${workspaceId}`;
  if (dryRun || rows.length === 0 || output.format === "table")
    await output.show(shown, { fields, columns: fields, none });
  if (dryRun) await output.note("Dry run: nothing was sent");
  if (dryRun || rows.length === 0) return undefined;
  const lookup = verify ? await requireLookup(offboardWork, context) : undefined;
  const what = pluralize(rows.length, "identifier");
  await confirmName(`Delete ${what} of ${routing.name} from ${cluster}`, cluster, options.confirm, context);
  const values = rows.map(kind.value);
  const router = await context.client("router");
  const { params, body } = offboardWork.call(values, reading.scope);
  const answer: unknown = await router.call(deleteWorkspaceData, { params, body } as never, { signal: context.signal });
  const outcome = { ...offboardWork, cluster, rows: rows.length };
  requireConfirmed(answer, outcome);
  const clusters = await lookup?.clustersOf(values);
  const left = values.filter((value) => clusters?.get(value) === cluster).length;
  if (output.format === "table") await output.print(formatOutcome(outcome));
  else {
    const verified = clusters ? values.length - left : null;
    const signatories = routing.signatories.length;
    await output.show({ workspace_id: workspaceId, cluster_id: cluster, identifiers: shown, verified, signatories });
  }
  if (clusters) await output.note(`Looked up: ${values.length - left} of ${what} not mapped to ${cluster}`);
  if (routing.signatories.length > 0) {
    const hashes = pluralize(routing.signatories.length, "signatory hash", "signatory hashes");
    await output.note(`${hashes} not removed. To remove them: svc emulator remove-signatories`);
  }
  if (left === 0) return undefined;
  throw new CommandFailedError(
    "partial",
    "not_verified",
    `${pluralize(left, "identifier")} still mapped to ${cluster}.`,
  );
}
