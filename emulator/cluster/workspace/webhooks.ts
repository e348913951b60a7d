import type { createWebhook } from "../../../src/api/contracts/webhooks.ts";
import { isHeaderName, isHeaderValue, type ResultOf } from "../../../src/api/operation.ts";
import { isOnThisMachine } from "../../../src/files/machine.ts";
import type { EmulatorSettings } from "../../domain/settings.ts";
import { inTransaction } from "../../http/handler.ts";
import { findForbiddenUrlReason } from "../../http/outgoing/receiver-rules.ts";
import type { View } from "../../store/port.ts";
import { listLatestDeliveries, scheduleResend } from "../../webhooks/log.ts";
import { type Webhook, webhookRows } from "../../webhooks/webhooks.ts";
import type { ClusterHandlers } from "../context.ts";
import { requireContractByNumber } from "../contracts/rows.ts";
import { requireDeveloperSettings } from "./credentials.ts";
import { toOrgUser } from "./users.ts";

export const webhookHandlers = {
  "webhooks.create": inTransaction((tx, { body }, { clock, cluster, settings, caller, fail, finding }) => {
    requireDeveloperSettings(caller, fail);
    if (!isReceiver(body.url, settings)) fail("invalid-fields", { url: ["Enter a valid HTTPS URL."] });
    const checkResult = checkCustomHeaders(body.custom_headers ?? {});
    if ("problems" in checkResult) return fail("invalid-fields", { custom_headers: checkResult.problems });
    if (new URL(body.url).protocol === "http:") finding("http-receiver", "the specification requires https");
    if (pointsToAny(body.url, [settings.publicUrl, cluster.url, cluster.internalUrl])) {
      finding("own-receiver", `${new URL(body.url).origin} is this emulator, which receives no webhooks`);
    }
    const row: Webhook = {
      id: tx.next("webhook"),
      workspace_id: caller.workspace.id,
      cluster_id: cluster.id,
      title: body.title,
      description: body.description ?? null,
      url: body.url,
      only_for_activities: [...new Set(body.only_for_activities)],
      custom_headers: checkResult.headers,
      status: "ACTIVE",
      failure_count: 0,
      disabled: null,
      created_by: caller.user.id,
      created_at: clock.now(),
    };
    tx.put(webhookRows, row);
    return toSubscriptionRecord(tx, row);
  }),

  // Each workspace has one key, which any of its API keys can read (DECISIONS.md, C15 and F3).
  "webhooks.hmac-key": (_, { caller }) => ({ hmac_key: caller.workspace.hmac_key }),

  "webhooks.delete": inTransaction((tx, { params }, { caller, fail }) => {
    requireDeveloperSettings(caller, fail);
    const row = tx.get(webhookRows, params.webhook_id);
    if (row?.workspace_id !== caller.workspace.id) return fail("webhook-not-found");
    // Waiting deliveries become skipped_deleted when they are due (DECISIONS.md, C18).
    tx.delete(webhookRows, row.id);
  }),

  "webhooks.re-trigger": inTransaction((tx, { body }, { clock, caller, fail }) => {
    for (const id of body.contract_ids) {
      requireContractByNumber(tx, caller, id, () => fail("nothing-to-re-trigger"));
    }
    const deliveries = listLatestDeliveries(tx, caller.workspace.id, body.contract_ids);
    if (deliveries.length === 0) fail("nothing-to-re-trigger");
    for (const delivery of deliveries) scheduleResend(tx, delivery, clock.now());
    return { message: "Success" };
  }),
} satisfies ClusterHandlers;

function toSubscriptionRecord(view: View, row: Webhook): ResultOf<typeof createWebhook> {
  const { id, title, only_for_activities, url, description, custom_headers, status, created_by } = row;
  const created_by_user = toOrgUser(view, created_by);
  return { id, title, only_for_activities, url, created_by_user, description, custom_headers, status };
}

/** https is always accepted, and http only for allowed receivers (DECISIONS.md, C16). */
function isReceiver(text: string, { webhookAllow, strict }: EmulatorSettings): boolean {
  // The URL parser corrects slashes and removes or encodes these characters, but the text is stored as it is.
  if (!/^https?:\/\/[^/]/i.test(text) || /[\s\p{Cc}\\]/u.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  // A credential in the URL would be stored and logged.
  if (url.username || url.password) return false;
  if (url.protocol === "https:") return true;
  return !strict.has("receivers") && findForbiddenUrlReason(text, { allow: webhookAllow, strict: false }) === undefined;
}

/** Prefixes of infrastructure headers that a webhook cannot set (DECISIONS.md, F20). */
const rejectedHeaderPrefixes = [
  ...["x-google-", "x-goog-", "x-gfe-", "x-amz-", "x-ms-"],
  ...["x-dd-", "x-datadog-", "x-b3-", "x-svc-"],
];

const printablePattern = /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u;

function checkCustomHeaders(
  customHeaders: Readonly<Record<string, string>>,
): { readonly headers: Record<string, string> } | { readonly problems: Record<string, string[]> } {
  const headers = new Map<string, string>();
  const problems = new Map<string, string[]>();
  const seenNames = new Set<string>();
  for (const [rawName, text] of Object.entries(customHeaders)) {
    const name = rawName.trim();
    const problem = findProblem(name, text, seenNames);
    if (problem === undefined) headers.set(name, text);
    else problems.set(rawName, [problem]);
    seenNames.add(name.toLowerCase());
  }
  return problems.size > 0 ? { problems: Object.fromEntries(problems) } : { headers: Object.fromEntries(headers) };
}

function findProblem(name: string, text: string, seenNames: ReadonlySet<string>): string | undefined {
  const lowerName = name.toLowerCase();
  if (!isHeaderName(name) || !/^x-./.test(lowerName)) return "Header names must be custom names that start with X-.";
  const prefix = rejectedHeaderPrefixes.find((candidate) => lowerName.startsWith(candidate));
  if (prefix !== undefined) return `Header names must not start with ${prefix.toUpperCase()}.`;
  if (seenNames.has(lowerName)) return "This header is repeated.";
  if (!printablePattern.test(text)) return "Header values must not contain control characters.";
  if (!isHeaderValue(text)) return "Header values must not contain characters beyond ISO-8859-1.";
  return undefined;
}

const pointsToAny = (url: string, addresses: readonly string[]): boolean =>
  addresses.some((address) => toAuthority(address) === toAuthority(url));

function toAuthority(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${isOnThisMachine(url) ? "localhost" : hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}
