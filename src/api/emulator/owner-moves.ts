import * as z from "zod";
import { assumed } from "../basis.ts";
import { activitiesCausedBy } from "../contracts/lifecycle.ts";
import { email } from "../email.ts";
import { json, operation } from "../operation.ts";
import { emulator } from "../services.ts";
import { MovedContract } from "./contracts/contracts.ts";

const ours = assumed("The contract API does the same with a key of the workspace. The control plane requires no key.");

const params = z.object({ id: z.string().describe("Contract: 12 or T-12") });
const Act = z
  .object({ email: email.optional().describe("E-mail address of the person (default: the contract's owner)") })
  .default({});
const Request = z
  .object({
    email: email.optional().describe("E-mail address of the reviewer or approver (default: the contract's owner)"),
  })
  .default({});

const shared = { service: emulator, method: "POST", auth: "control-token", basis: ours } as const;
const responses = { 200: json(MovedContract) };

export const sendByControl = operation({
  ...shared,
  id: "emulator-contracts.send",
  summary: "Send a contract to its counterparties, as its owner",
  description: "Sends it to the people in the contract. To name others, use svc contracts send.",
  path: "/_emulator/contracts/{id}/send",
  request: { params, body: json(Act) },
  responses,
  failures: ["no-such-contract", "forbidden-move", "review-open", "approvals-pending", "no-signatories"],
  emits: activitiesCausedBy("send"),
  cli: { command: "emulator send" },
  examples: [{ title: "Send a contract for signature", params: { id: "T-1" }, body: {} }],
});

export const markByControl = operation({
  ...shared,
  id: "emulator-contracts.mark",
  summary: "Mark a contract for execution, as its owner",
  description: "Requests the signatures. Fails while a review is open or an approval is pending.",
  path: "/_emulator/contracts/{id}/mark",
  request: { params, body: json(Act) },
  responses,
  failures: ["no-such-contract", "forbidden-move", "review-open", "approvals-pending", "no-signatories"],
  emits: activitiesCausedBy("mark-for-execution"),
  cli: { command: "emulator mark" },
  examples: [{ title: "Mark a contract after its review", params: { id: "T-1" }, body: {} }],
});

export const unmarkByControl = operation({
  ...shared,
  id: "emulator-contracts.unmark",
  summary: "Take a contract out of signature, as its owner",
  description: "Voids the signatures so far, and returns the contract to REDLINING.",
  path: "/_emulator/contracts/{id}/unmark",
  request: { params, body: json(Act) },
  responses,
  failures: ["no-such-contract", "cannot-unmark"],
  emits: activitiesCausedBy("unmark-for-execution"),
  cli: { command: "emulator unmark" },
  examples: [{ title: "Return a contract to REDLINING", params: { id: "T-1" }, body: {} }],
});

export const requestReviewByControl = operation({
  ...shared,
  id: "emulator-contracts.request-review",
  summary: "Request a review from a member",
  path: "/_emulator/contracts/{id}/request-review",
  request: { params, body: json(Request) },
  responses,
  failures: ["no-such-contract", "no-such-member", "forbidden-move"],
  emits: activitiesCausedBy("request-review"),
  cli: { command: "emulator request-review" },
  examples: [{ title: "Request a review by Ben", params: { id: "T-1" }, body: { email: "ben@northwind.example" } }],
});

export const requestApprovalByControl = operation({
  ...shared,
  id: "emulator-contracts.request-approval",
  summary: "Request an approval from a member",
  description: "Adds one approval. To add several in an order, use svc contracts approvals create.",
  path: "/_emulator/contracts/{id}/request-approval",
  request: { params, body: json(Request) },
  responses,
  failures: ["no-such-contract", "no-such-member", "forbidden-move", "approvals-in-progress"],
  emits: activitiesCausedBy("request-approval"),
  cli: { command: "emulator request-approval" },
  examples: [{ title: "Request an approval by Ben", params: { id: "T-1" }, body: { email: "ben@northwind.example" } }],
});
