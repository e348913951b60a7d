import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { publicOperation } from "../services.ts";
import { contractParams, defineContractPage, paging } from "./shapes.ts";

export const Comment = z.strictObject({
  id: z.int(),
  contract_id: z.int(),
  comment: z.string(),
  replies: z.array(z.strictObject({ id: z.int(), comment: z.string() })),
});

export const listComments = defineOperation({
  id: "comments.list",
  ...publicOperation,
  summary: "List the comments in a contract's activity log, newest first",
  path: "/api/v2.1/public/contracts/{contract_id}/comments/",
  request: { params: contractParams, query: z.object(paging) },
  responses: { 200: json(defineContractPage(Comment)) },
  failures: ["not-found"],
  cli: { command: "contracts comments list", rows: "results", columns: ["id", { name: "comment", shrinkPriority: 1 }] },
  examples: [{ title: "Read the comments", params: { contract_id: 1 } }],
});

export const addComment = defineOperation({
  id: "comments.create",
  ...publicOperation,
  summary: "Add a comment to a contract's activity log",
  method: "POST",
  path: "/api/v2.1/public/contracts/{contract_id}/comments/",
  request: {
    params: contractParams,
    body: json(z.object({ comment: z.string().min(1).describe("Text of the comment; !!@12!! mentions user 12") })),
  },
  responses: { 201: json(Comment) },
  failures: ["not-found"],
  emits: ["CONTRACT_ACTIVITY_LOG_COMMENT_CREATED"],
  cli: { command: "contracts comments create" },
  examples: [{ title: "Leave a note", params: { contract_id: 1 }, body: { comment: "Waiting for their redlines" } }],
});
