import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is part of the emulator.");

export const controlWebhookFailures = {
  "no-such-webhook": control({
    status: 404,
    when: "the webhook does not exist, or is deleted",
    basis: ours,
    code: "no_such_webhook",
    says: ({ id }: { id: number }) => `Webhook ${id} not found.`,
    hint: "List them with `svc emulator webhooks`.",
  }),
  "no-such-delivery": control({
    status: 404,
    when: "the delivery does not exist, or its record was removed after 30 or 90 days",
    basis: ours,
    code: "no_such_delivery",
    says: ({ id }: { id: number }) => `Delivery ${id} not found.`,
    hint: "List them with `svc emulator deliveries`.",
  }),
  "subscription-deleted": control({
    status: 409,
    when: "the webhook of the delivery is deleted",
    basis: ours,
    code: "subscription_deleted",
    says: ({ webhook_id }: { webhook_id: number }) => `Cannot resend: webhook ${webhook_id} is deleted.`,
  }),
};
