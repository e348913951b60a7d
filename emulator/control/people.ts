import { isoMillis } from "../../src/base/clock.ts";
import { fits } from "../../src/base/path-pattern.ts";
import { emailHash, isEmailHash } from "../../src/schemes/email-hash.ts";
import type { InboxRow } from "../cluster/forwarded/forwarded.ts";
import { taskRecord, userTasks } from "../cluster/intake/user-tasks.ts";
import { orgUser } from "../cluster/workspace/users.ts";
import { userCodeKey } from "../router/device/user-codes.ts";
import { signatories, signatoryKey } from "../router/mapping/signatories.ts";
import { ownersByTable } from "../router/resolve/resolve.ts";
import { trialSignups } from "../router/trial/signups.ts";
import type { ControlHandlers } from "./world.ts";

export const ownerHandlers = {
  "owners.list": async ({ query: { identifier } }, world) => {
    const found = await ownersByTable(world, candidates(identifier));
    return found.map(({ table, key, cluster }) => ({ table, key, cluster_id: cluster.id }));
  },

  "owners.remove-signatories": ({ body: { signatory_hashes: hashes, cluster_id } }, { store }) =>
    store.transaction("owners.remove-signatories", async (tx) => {
      let removed = 0;
      for (const hash of new Set(hashes)) {
        const key = signatoryKey(cluster_id, hash);
        if (!(await tx.get(signatories, key))) continue;
        tx.delete(signatories, key);
        removed += 1;
      }
      return { removed };
    }),
} satisfies ControlHandlers;

/** What an identifier of unknown kind may be, in the order in which the router would look (DECISIONS.md, R14). */
function candidates(given: string) {
  const identifier = isEmailHash(given) ? given.toLowerCase() : given;
  const keys = [
    ["cluster_clients", identifier],
    ["cluster_emails", identifier],
    ["cluster_emails", emailHash(identifier)],
    ["user_codes", userCodeKey(identifier)],
    ["creator_tokens", identifier],
    ["counterparty_tokens", identifier],
    ["chat_a_teams", identifier],
    ["external_integrations", identifier],
    ["external_integrations", `CHAT_B:${identifier}`],
    ["signatories", identifier],
    ["signatories", emailHash(identifier)],
  ] as const;
  return keys.map(([table, key]) => ({ table, key }));
}

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
        ...taskRecord(row, clock.now()),
        workspace_id: row.workspace_id,
        task_category: row.task_category,
        assignees: await Promise.all(
          row.assignees.map(async ({ user_id, assignee_type }) => ({
            email: (await orgUser(view, user_id)).email,
            assignee_type,
          })),
        ),
        intake_ids: row.intake_ids,
        created_at: isoMillis(row.created_at),
      }));
      return { items: await Promise.all(items), total: await view.count(userTasks) };
    }),
} satisfies ControlHandlers;

export const inboxHandlers = {
  "clusters.inbox": ({ params, query: { path, limit } }, { clusters, inboxes, fail }) => {
    const cluster = clusters.find(({ id }) => id === params.id);
    if (!cluster) return fail("no-such-cluster-here", { cluster: params.id, known: clusters.map(({ id }) => id) });
    const inbox = inboxes.get(cluster.id);
    if (!inbox) return fail("external-cluster", { cluster: cluster.id, url: cluster.url });
    const matching = inbox.list().filter(({ target }) => path === undefined || fits(target, path));
    return { items: matching.slice(-limit).map(inboxRecord), total: matching.length };
  },
} satisfies ControlHandlers;

const inboxRecord = ({ id, at, method, target, rawHeaders, body, status }: InboxRow) => ({
  id,
  at: isoMillis(at),
  method,
  target,
  headers: pairs(rawHeaders),
  body: body.toString("base64"),
  status,
});

function pairs(rawHeaders: readonly string[]): [string, string][] {
  const out: [string, string][] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) out.push([rawHeaders[i]!, rawHeaders[i + 1]!]);
  return out;
}
