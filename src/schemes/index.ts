// Library for programs that receive webhooks: `import { verifyDelivery } from "svc-toolkit/webhooks"`. The published
// types are in published.d.ts.

export { standardWebhookHeaders, verifyStandardWebhook } from "./standard-webhooks.ts";
export { contentHash, contentHashHeader, contentHashOfStream, verifyContentHash, verifyDelivery } from "./webhook.ts";
export { diagnose } from "./webhook-diagnosis.ts";
