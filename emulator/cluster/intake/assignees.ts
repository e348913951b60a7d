import type * as z from "zod";
import type { Assignee } from "../../../src/api/contracts/intake.ts";
import type { Fail } from "../../../src/api/failures.ts";
import { rowNumber, type View } from "../../store/port.ts";
import type { Workspace } from "../../world/workspaces.ts";
import { activeUser, noSuchRow } from "../workspace/people.ts";
import type { Intake } from "./rows.ts";

/** Who works on an intake or a task: active users of the workspace. */
export async function requireAssignees(
  view: View,
  workspace: Workspace,
  given: readonly z.infer<typeof Assignee>[] | null | undefined,
  fail: Fail<"invalid-fields">,
): Promise<Intake["assignees"]> {
  const found = await Promise.all(
    (given ?? []).map(({ entity_id }) => activeUser(view, workspace, rowNumber(entity_id))),
  );
  const unknown = found.flatMap((user, index) =>
    user ? [] : [[index, { entity_id: [noSuchRow(given![index]!.entity_id)] }]],
  );
  if (unknown.length > 0) fail("invalid-fields", { assignees: Object.fromEntries(unknown) });
  return found.map((user, index) => ({ user_id: user!.id, assignee_type: given![index]!.assignee_type }));
}
