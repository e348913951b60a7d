import * as z from "zod";
import { defineOperation, passthrough, raw } from "../operation.ts";
import { routerOperation } from "../services.ts";
import { dictionary, optionalString } from "../shapes.ts";
import { forwarding, forwardingToAll, singleClusterFailures } from "./failures.ts";

/**
 * Shared parts of the webhooks of chat_a and chat_b: the request is raw bytes, and the response is the cluster's
 * (DECISIONS.md, R15, R21 and R22).
 */
const webhook = {
  ...routerOperation,
  method: "POST",
  request: { body: raw() },
  responses: { 200: passthrough() },
} as const;
const answersObject = { 200: passthrough(dictionary(z.unknown())) } as const;
const failures = ["bad-chat-a-signature", ...forwarding] as const;
const destinationFailures = ["unknown-destination", ...failures] as const;
const destination = z.object({ destination: z.string().describe("Named set of clusters") });

/**
 * A message or an interaction that names a contract is stored as a comment on the contract, if the cluster is emulated.
 */
const commenting = ["CONTRACT_ACTIVITY_LOG_COMMENT_CREATED"] as const;

const encodePayload = (value: unknown): string => `payload=${encodeURIComponent(JSON.stringify(value))}`;
const button = { action_id: "approve", text: { type: "plain_text", text: "Looks good" }, value: "T-1" };
const interaction = encodePayload({ type: "block_actions", team: { id: "T-NORTHWIND" }, actions: [button] });
const event = {
  type: "event_callback",
  team_id: "T-NORTHWIND",
  event: { type: "app_mention", text: "What about T-1?" },
};
const suggestion = encodePayload({ type: "block_suggestion", team: { id: "T-NORTHWIND" }, value: "nda" });

export const receiveInteraction = defineOperation({
  ...webhook,
  id: "chat-a.interaction",
  summary: "Forward an interaction from chat_a to the team's cluster",
  path: "/router/v1/integrations/chat_a/webhook/interaction",
  responses: answersObject,
  failures,
  emits: commenting,
  cli: { command: "chat-a interaction" },
  examples: [{ title: "Forward a pressed button", body: interaction }],
});

export const receiveEvent = defineOperation({
  ...webhook,
  id: "chat-a.event",
  summary: "Forward an event from chat_a to the team's cluster",
  path: "/router/v1/integrations/chat_a/webhook/event/",
  failures,
  emits: commenting,
  cli: { command: "chat-a event" },
  examples: [{ title: "Forward a mention of the app", body: event }],
});

export const receiveOptions = defineOperation({
  ...webhook,
  id: "chat-a.options",
  summary: "Forward an options request from chat_a to the team's cluster",
  path: "/router/v1/integrations/chat_a/webhook/options",
  failures,
  cli: { command: "chat-a options" },
  examples: [{ title: "Forward a request for menu options", body: suggestion }],
});

export const receiveDestinationInteraction = defineOperation({
  ...webhook,
  id: "chat-a.destination-interaction",
  summary: "Forward an interaction of chat_a within a destination",
  path: "/router/v1/integrations/destinations/{destination}/chat_a/webhook/interaction",
  request: { params: destination, body: raw() },
  responses: answersObject,
  failures: destinationFailures,
  emits: commenting,
  cli: { command: "chat-a destination-interaction" },
  examples: [{ title: "Forward a pressed button", params: { destination: "default" }, body: interaction }],
});

export const receiveDestinationEvent = defineOperation({
  ...webhook,
  id: "chat-a.destination-event",
  summary: "Forward an event of chat_a within a destination",
  path: "/router/v1/integrations/destinations/{destination}/chat_a/webhook/event/",
  request: { params: destination, body: raw() },
  failures: destinationFailures,
  emits: commenting,
  cli: { command: "chat-a destination-event" },
  examples: [{ title: "Forward a mention of the app", params: { destination: "default" }, body: event }],
});

export const receiveDestinationOptions = defineOperation({
  ...webhook,
  id: "chat-a.destination-options",
  summary: "Forward an options request of chat_a within a destination",
  path: "/router/v1/integrations/destinations/{destination}/chat_a/webhook/options",
  request: { params: destination, body: raw() },
  failures: destinationFailures,
  cli: { command: "chat-a destination-options" },
  examples: [{ title: "Forward a request for menu options", params: { destination: "default" }, body: suggestion }],
});

export const receiveOAuthRedirect = defineOperation({
  ...webhook,
  id: "chat-a.oauth-redirect",
  summary: "Forward an app authorization of chat_a to all clusters",
  description: "The cluster of the OAuth state is unknown, so the first successful response is returned.",
  method: "GET",
  path: "/router/v1/integrations/destinations/{destination}/chat_a/oauth_redirect",
  request: {
    params: destination,
    query: z.object({
      code: optionalString.describe("Code of chat_a"),
      state: optionalString.describe("State of the cluster's flow"),
      error: optionalString.describe("Error that chat_a sends instead of a code"),
    }),
  },
  failures: ["unknown-destination", ...forwardingToAll],
  cli: { command: "chat-a oauth-redirect" },
  examples: [
    { title: "Forward an installation", params: { destination: "default" }, query: { code: "c0de", state: "st_81" } },
  ],
});

export const receiveActivity = defineOperation({
  id: "chat-b.messaging",
  // Without `auth`: the handler verifies the bot-framework token, because `bearer` stands for a different issuer.
  ...webhook,
  summary: "Verify and forward an activity of chat_b to its cluster",
  path: "/router/v1/integrations/chat_b/webhook/messaging",
  failures: ["bad-chat-b-token", "not-an-activity", "no-chat-b-mapping", ...singleClusterFailures],
  emits: ["CONTRACT_ACTIVITY_LOG_COMMENT_CREATED"],
  cli: { command: "chat-b messaging" },
  examples: [
    {
      title: "Forward a message",
      body: {
        type: "message",
        channelId: "msteams",
        channelData: { tenant: { id: "tenant-northwind" } },
        text: "What about T-1?",
      },
    },
  ],
});
