import * as z from "zod";
import type { Clock } from "../../../src/base/clock.ts";
import { inTransaction } from "../../http/handler.ts";
import { defineNumberedRows, storedTime, type Transaction, type View } from "../../store/port.ts";
import type { Performer } from "../../webhooks/emit.ts";
import type { ClusterHandlers } from "../context.ts";
import { mapPage, paginateSlice } from "../response.ts";
import { emitContractEvent, toPerformer } from "./records.ts";
import { type Contract, requireContractByNumber } from "./rows.ts";

const Comment = z.strictObject({
  id: z.int(),
  contract_id: z.int(),
  comment: z.string(),
  created_by: z.int(),
  created_at: storedTime(z.number()),
});
type Comment = z.infer<typeof Comment>;

export const comments = defineNumberedRows("comments", "comment", Comment, { contract: (row) => row.contract_id });

export const commentHandlers = {
  "comments.list": ({ params, query }, { store, caller, fail }) => {
    const contract = requireContractByNumber(store, caller, params.contract_id, fail);
    const newestFirst = { by: "contract", equals: contract.id, reverse: true } as const;
    return mapPage(paginateSlice(store, comments, newestFirst, query), toCommentRecord);
  },

  "comments.create": inTransaction((tx, { params, body }, context) => {
    const contract = requireContractByNumber(tx, context.caller, params.contract_id, context.fail);
    const author = { by: toPerformer(context.caller), id: context.caller.user.id };
    return toCommentRecord(addComment(tx, context, contract, body.comment, author));
  }),
} satisfies ClusterHandlers;

export function addComment(
  tx: Transaction,
  { clock }: { readonly clock: Clock },
  contract: Contract,
  comment: string,
  { by: performer, id: created_by }: { readonly by: Performer; readonly id: number },
): Comment {
  const row = { id: tx.next("comment"), contract_id: contract.id, comment, created_by, created_at: clock.now() };
  tx.put(comments, row);
  const data = { comment: { id: row.id, comment } };
  emitContractEvent(tx, { clock, performer }, "CONTRACT_ACTIVITY_LOG_COMMENT_CREATED", contract, data);
  return row;
}

export const listComments = (view: View, { id }: Contract): readonly Comment[] =>
  view.list(comments, { by: "contract", equals: id });

// The public API has no replies, because they can only be written in the application.
const toCommentRecord = ({ id, contract_id, comment }: Comment) => ({ id, contract_id, comment, replies: [] });
