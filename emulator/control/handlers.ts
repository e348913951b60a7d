import { tokenHandlers } from "./access/tokens.ts";
import { chatBIssuerHandlers } from "./chat-b.ts";
import { clockHandlers } from "./clock.ts";
import { consoleHandlers } from "./console/page.ts";
import type { ControlHandlers } from "./context.ts";
import { activityHandlers, activityListHandlers } from "./contracts/activities.ts";
import { contractDetailHandlers } from "./contracts/contract-details.ts";
import { controlContractHandlers } from "./contracts/contracts.ts";
import { deliveryHandlers } from "./deliveries.ts";
import { deviceGrantHandlers } from "./device-grants.ts";
import { emailHandlers } from "./emails.ts";
import { eventHandlers } from "./events/describe-events.ts";
import { faultHandlers } from "./faults.ts";
import { invitationHandlers, trialListHandlers, userTaskListHandlers } from "./invitations.ts";
import { controlClusterHandlers, lifecycleHandlers, openApiHandlers } from "./lifecycle.ts";
import { metricsHandlers } from "./metrics/metrics.ts";
import { ownerHandlers } from "./owners.ts";
import { installationHandlers, providerHandlers } from "./providers.ts";
import { inboxHandlers, requestHandlers } from "./requests.ts";

import { snapshotHandlers } from "./state/snapshots.ts";
import { stateHandlers } from "./state/state.ts";
import { workspaceHandlers } from "./state/workspaces.ts";
import { traceHandlers } from "./traces.ts";
import { waitHandlers } from "./wait.ts";
import { controlWebhookHandlers } from "./webhooks.ts";

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
  ...invitationHandlers,
  ...trialListHandlers,
  ...userTaskListHandlers,
  ...activityHandlers,
  ...activityListHandlers,
  ...waitHandlers,
  ...faultHandlers,
  ...inboxHandlers,
  ...traceHandlers,
  ...stateHandlers,
  ...workspaceHandlers,
  ...snapshotHandlers,
  ...deviceGrantHandlers,
  ...providerHandlers,
  ...installationHandlers,
  ...consoleHandlers,
  ...eventHandlers,
  ...tokenHandlers,
  ...metricsHandlers,
} satisfies Required<ControlHandlers>;
