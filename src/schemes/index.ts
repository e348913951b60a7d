// Library for programs that receive webhooks: `import { verifyDelivery } from "svc-toolkit/webhooks"`. The published
// types are in published.d.ts.

export {
  contentHash,
  contentHashHeader,
  contentHashOfStream,
  standardWebhookHeaders,
  verifyContentHash,
  verifyDelivery,
  verifyStandardWebhook,
} from "./webhook.ts";
export { diagnose } from "./webhook-diagnosis.ts";
