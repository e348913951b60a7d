import { verifyChatA } from "../../../src/schemes/connected-apps.ts";
import { readConnectedApps } from "../../domain/apps.ts";
import type { Cluster } from "../../domain/clusters.ts";
import { concatBody } from "../../http/bodies/decode.ts";
import { findString, isFormType, parseJsonObject, readFormFields } from "../../http/bodies/fields.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import { removeHeaders } from "../../http/hop-by-hop.ts";
import { createJsonPassthrough, Passthrough } from "../../http/reply.ts";
import { type ForwardCall, type RouterCall, type RouterHandlers, verifyFreshSignature } from "../context.ts";
import { forwardToAll, forwardToOwners } from "../proxied/forward.ts";
import { findOwners } from "../resolve.ts";

type ChatACall = ForwardCall & RouterCall<"bad-chat-a-signature">;

/** The relevant fields of an event or a form of chat_a. */
interface ChatMessage {
  /** IDs of the team and then of the enterprise. The first ID that is mapped selects the cluster. */
  readonly teams: readonly (string | undefined)[];
  /** Present if chat_a verifies the URL. */
  readonly challenge?: string;
  /** True if chat_a checks the certificate with an unsigned request. */
  readonly isSslCheck?: boolean;
}

function parseMessage(request: Pick<ReceivedRequest, "headers" | "body">): ChatMessage {
  if (isFormType(request.headers["content-type"])) {
    const form = readFormFields(request);
    const payload = parseJsonObject(form.payload);
    // An installation for a whole enterprise can lack a team.
    const teams = [
      findString(payload, "team", "id"),
      findString(payload, "chat_a_team_id"),
      form.chat_a_team_id || undefined,
      findString(payload, "enterprise", "id"),
    ];
    return { teams, isSslCheck: form.ssl_check === "1" };
  }
  const event = parseJsonObject(request.body);
  const isChallenge = findString(event, "type") === "url_verification";
  return {
    teams: [findString(event, "team_id"), findString(event, "chat_a_team_id")],
    ...(isChallenge && { challenge: findString(event, "challenge") ?? "" }),
  };
}

/**
 * Returns the headers that sign a message: `x-<app>-signature` and `x-<app>-request-timestamp`. Real senders use the
 * app's own name where the specification has chat_a, so any name is accepted.
 */
function findSignature(headers: ReceivedRequest["headers"]) {
  for (const name of Object.keys(headers)) {
    const [, app] = /^x-(.+)-request-timestamp$/.exec(name) ?? [];
    if (app !== undefined) return { timestamp: headers[name], signature: headers[`x-${app}-signature`] };
  }
  return { timestamp: undefined, signature: undefined };
}

function verifyMessage(call: ChatACall): void {
  const { signing_secret: signingSecret } = readConnectedApps(call.store).chat_a;
  if (signingSecret === null) {
    call.finding("signature-unchecked", "the seed has no signing secret of chat_a");
    return;
  }
  const signedMessage = { signingSecret, body: call.request.body, ...findSignature(call.request.headers) };
  const verdict = verifyFreshSignature(call, (nowMs) => verifyChatA({ ...signedMessage, nowMs }));
  if (verdict.ok) return;
  call.finding("chat-a-signature-refused", verdict.reason);
  call.fail("bad-chat-a-signature");
}

/** Forwards a message to the team's cluster if it is one of `candidates`, or else to all of them. */
async function forwardMessage(call: ChatACall, candidates: () => readonly Cluster[]): Promise<Passthrough> {
  const { teams, challenge, isSslCheck } = parseMessage(call.request);
  if (!isSslCheck) verifyMessage(call);
  const defaultClusters = candidates();
  if (isSslCheck) return new Passthrough(200, [], Buffer.alloc(0));
  if (challenge !== undefined) return createJsonPassthrough(200, { challenge });

  const owners = findOwners(
    call,
    teams.flatMap((key) => (key === undefined ? [] : [{ table: "chat_a_teams" as const, key }])),
  );
  return forwardToOwners(
    call,
    owners.filter((owner) => defaultClusters.includes(owner)),
    { others: defaultClusters, timeoutMs: call.settings.chatUpstreamTimeoutMs },
  );
}

/** Interaction routes respond with an object, so an empty success becomes `{}` (DECISIONS.md, R21). */
async function toObjectResponse(call: ForwardCall, forwarding: Promise<Passthrough>): Promise<Passthrough> {
  const response = await forwarding;
  if (response.status < 200 || response.status > 299) return response;
  const body = await concatBody(response.body).catch(() => call.fail("no-cluster-reachable"));
  if (body.length === 0) return createJsonPassthrough(200, {});
  // The length is computed again when the response is sent.
  return new Passthrough(response.status, removeHeaders(response.rawHeaders, ["content-length"]), body);
}

/** Returns the clusters of a destination in seed order (DECISIONS.md, R15). */
const selectClustersOf = (call: RouterCall<"unknown-destination">, destination: string) => () => {
  const matches = call.clusters.filter(({ destinations }) => destinations.includes(destination));
  return matches.length > 0 ? matches : call.fail("unknown-destination", { destination });
};

export const chatAHandlers = {
  "chat-a.interaction": (_, call) =>
    toObjectResponse(
      call,
      forwardMessage(call, () => call.clusters),
    ),
  "chat-a.event": (_, call) => forwardMessage(call, () => call.clusters),
  "chat-a.options": (_, call) => forwardMessage(call, () => call.clusters),
  "chat-a.destination-interaction": ({ params }, call) =>
    toObjectResponse(call, forwardMessage(call, selectClustersOf(call, params.destination))),
  "chat-a.destination-event": ({ params }, call) => forwardMessage(call, selectClustersOf(call, params.destination)),
  "chat-a.destination-options": ({ params }, call) => forwardMessage(call, selectClustersOf(call, params.destination)),
  "chat-a.oauth-redirect": ({ params }, call) =>
    forwardToAll(call, selectClustersOf(call, params.destination)(), call.settings.chatUpstreamTimeoutMs),
} satisfies RouterHandlers;
