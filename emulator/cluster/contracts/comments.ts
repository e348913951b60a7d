import * as z from "zod";
import { rows } from "../../store/port.ts";
import { pageOfSlice } from "../paging.ts";
import type { ClusterHandlers } from "../world.ts";
import { tellOfContract } from "./activities.ts";
import { requireContractNumber } from "./rows.ts";

const Comment = z.strictObject({
  id: z.int(),
  contract_id: z.int(),
  comment: z.string(),
  created_by: z.int(),
  created_at: z.number(),
});
type Comment = z.infer<typeof Comment>;

/** Comments in the activity log of a contract. */
export const comments = rows<Comment, "contract">({
  name: "comments",
  schema: Comment,
  key: (row) => String(row.id),
  indexes: { contract: (row) => row.contract_id },
});

export const commentHandlers = {
  "comments.list": ({ params, query }, { store, caller, fail }) =>
    store.read(async (view) => {
      const contract = await requireContractNumber(view, caller, params.contract_id, fail);
      const newestFirst = { by: "contract", equals: contract.id, reverse: true } as const;
      const page = await pageOfSlice(view, comments, newestFirst, query);
      return { ...page, results: page.results.map(commentRecord) };
    }),

  "comments.create": ({ params, body }, world) =>
    world.store.transaction("comments.create", async (tx) => {
      const contract = await requireContractNumber(tx, world.caller, params.contract_id, world.fail);
      const row: Comment = {
        id: tx.next("comment"),
        contract_id: contract.id,
        comment: body.comment,
        created_by: world.caller.user.id,
        created_at: world.clock.now(),
      };
      tx.put(comments, row);
      await tellOfContract(tx, world, "CONTRACT_ACTIVITY_LOG_COMMENT_CREATED", contract, {
        comment: { id: row.id, comment: row.comment },
      });
      return commentRecord(row);
    }),
} satisfies ClusterHandlers;

// Replies are written in the application alone.
const commentRecord = ({ id, contract_id, comment }: Comment) => ({ id, contract_id, comment, replies: [] });
