import { isoMillis } from "../../src/base/clock.ts";
import { toTaskRecord, userTasks } from "../cluster/intake/user-tasks.ts";
import { toOrgUser } from "../cluster/workspace/users.ts";
import { trialSignups } from "../router/trial/signups.ts";
import type { ControlHandlers } from "./context.ts";

export const trialListHandlers = {
  "trials.list": ({ query }, { store }) =>
    store.read(async (view) => ({
      items: (await view.list(trialSignups, { ...query, reverse: true })).map(
        ({ claimed: _, workspace, ...signup }) => ({
          ...signup,
          cluster_id: workspace?.cluster_id ?? null,
          workspace_id: workspace?.workspace_id ?? null,
        }),
      ),
      total: await view.count(trialSignups),
    })),
} satisfies ControlHandlers;

export const userTaskListHandlers = {
  "user-tasks.list": ({ query }, { store, clock }) =>
    store.read(async (view) => {
      const rows = await view.list(userTasks, { ...query, reverse: true });
      const items = rows.map(async (row) => ({
        ...toTaskRecord(row, clock.now()),
        workspace_id: row.workspace_id,
        task_category: row.task_category,
        assignees: await Promise.all(
          row.assignees.map(async ({ user_id, assignee_type }) => ({
            email: (await toOrgUser(view, user_id)).email,
            assignee_type,
          })),
        ),
        intake_ids: row.intake_ids,
        created_at: isoMillis(row.created_at),
      }));
      return { items: await Promise.all(items), total: await view.count(userTasks) };
    }),
} satisfies ControlHandlers;
