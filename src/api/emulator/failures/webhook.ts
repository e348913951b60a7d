import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is the emulator's own.");

export const controlWebhookFailures = {
  "no-such-webhook": control({
    status: 404,
    when: "no workspace has that subscription, or it is deleted",
    basis: ours,
    code: "no_such_webhook",
    says: ({ id }: { id: number }) => `No webhook subscription has the id ${id}.`,
    hint: "List them with `svc emulator webhooks`.",
  }),
  "no-such-delivery": control({
    status: 404,
    when: "there is no such delivery, or its record was dropped after 30 or 90 days",
    basis: ours,
    code: "no_such_delivery",
    says: ({ id }: { id: number }) => `No delivery has the id ${id}.`,
    hint: "List them with `svc emulator deliveries`.",
  }),
  "subscription-deleted": control({
    status: 409,
    when: "the subscription of the delivery is deleted",
    basis: ours,
    code: "subscription_deleted",
    says: ({ webhook_id }: { webhook_id: number }) =>
      `The subscription ${webhook_id} is deleted: nobody is to be told.`,
  }),
};
