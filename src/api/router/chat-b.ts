import { operation, passthrough, raw } from "../operation.ts";
import { router } from "../services.ts";
import { forwardingToOne } from "./failures/index.ts";

export const receiveActivity = operation({
  id: "chat-b.messaging",
  service: router,
  summary: "Verify and forward an activity of chat_b to its cluster",
  method: "POST",
  path: "/router/v1/integrations/chat_b/webhook/messaging",
  // The bot-framework token is checked by the handler: it is of another issuer than `bearer` means.
  auth: "none",
  request: { body: raw() },
  responses: { 200: passthrough() },
  failures: ["bad-chat-b-token", "not-an-activity", "no-chat-b-mapping", ...forwardingToOne],
  emits: ["CONTRACT_ACTIVITY_LOG_COMMENT_CREATED"],
  cli: { command: "chat-b messaging" },
  basis: "specified",
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
