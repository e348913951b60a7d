// For programs that receive webhooks: `import { verifyDelivery } from "svc-toolkit/webhooks"`. Its published types are
// in published.d.ts.

export { standardWebhookHeaders, verifyStandardWebhook } from "./standard-webhooks.ts";
export { contentHash, contentHashHeader, contentHashOfStream, verifyContentHash, verifyDelivery } from "./webhook.ts";
export { diagnose } from "./webhook-diagnosis.ts";
