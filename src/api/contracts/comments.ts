import * as z from "zod";
import { json, operation } from "../operation.ts";
import { contracts } from "../services.ts";
import { pageOf, paging } from "./shapes/paging.ts";

const Comment = z.strictObject({
  id: z.int(),
  contract_id: z.int(),
  comment: z.string(),
  replies: z.array(z.strictObject({ id: z.int(), comment: z.string() })),
});

const params = z.object({ contract_id: z.int().describe("Integer id of the contract") });

export const listComments = operation({
  id: "comments.list",
  service: contracts,
  summary: "List the comments in a contract's activity log, newest first",
  method: "GET",
  path: "/api/v2.1/public/contracts/{contract_id}/comments/",
  auth: "api-key",
  request: { params, query: z.object(paging) },
  responses: { 200: json(pageOf(Comment)) },
  failures: ["not-found"],
  cli: { command: "contracts comments list", rows: "results", columns: ["id", { name: "comment", cut: 1 }] },
  basis: "public",
  examples: [{ title: "Read the comments", params: { contract_id: 1 } }],
});

export const addComment = operation({
  id: "comments.create",
  service: contracts,
  summary: "Add a comment to a contract's activity log",
  method: "POST",
  path: "/api/v2.1/public/contracts/{contract_id}/comments/",
  auth: "api-key",
  request: {
    params,
    body: json(z.object({ comment: z.string().min(1).describe("Text of the comment; !!@12!! mentions user 12") })),
  },
  responses: { 201: json(Comment) },
  failures: ["not-found"],
  emits: ["CONTRACT_ACTIVITY_LOG_COMMENT_CREATED"],
  cli: { command: "contracts comments create" },
  basis: "public",
  examples: [{ title: "Leave a note", params: { contract_id: 1 }, body: { comment: "Waiting for their redlines" } }],
});
