import { chatBIssuerHandlers } from "./chat-b.ts";
import { clockHandlers } from "./clock.ts";
import { controlClusterHandlers } from "./clusters.ts";
import { activityHandlers } from "./contracts/activities.ts";
import { contractDetailHandlers } from "./contracts/contract-details.ts";
import { controlContractHandlers } from "./contracts/contracts.ts";
import { deliveryHandlers } from "./deliveries.ts";
import { deviceGrantHandlers } from "./device-grants.ts";
import { emailHandlers } from "./emails.ts";
import { faultHandlers } from "./faults.ts";
import { inboxHandlers } from "./inbox.ts";
import { lifecycleHandlers } from "./lifecycle.ts";
import { openApiHandlers } from "./openapi.ts";
import { ownerHandlers } from "./owners.ts";
import { providerHandlers } from "./provider.ts";
import { requestHandlers } from "./requests.ts";
import { stateHandlers } from "./state.ts";
import { trialListHandlers } from "./trials.ts";
import { waitHandlers } from "./wait.ts";
import { controlWebhookHandlers } from "./webhooks.ts";
import type { ControlHandlers } from "./world.ts";

/** The handlers of the control plane. */
export const controlHandlers = {
  ...lifecycleHandlers,
  ...openApiHandlers,
  ...clockHandlers,
  ...requestHandlers,
  ...chatBIssuerHandlers,
  ...ownerHandlers,
  ...controlClusterHandlers,
  ...controlWebhookHandlers,
  ...deliveryHandlers,
  ...controlContractHandlers,
  ...contractDetailHandlers,
  ...emailHandlers,
  ...trialListHandlers,
  ...activityHandlers,
  ...waitHandlers,
  ...faultHandlers,
  ...inboxHandlers,
  ...stateHandlers,
  ...deviceGrantHandlers,
  ...providerHandlers,
} satisfies Required<ControlHandlers>;
