import { tokenHandlers } from "./access/credentials.ts";
import { clockHandlers } from "./clock.ts";
import { consoleHandlers } from "./console/page.ts";
import type { ControlHandlers } from "./context.ts";
import { activityHandlers } from "./contracts/activities.ts";
import { controlContractDetailHandlers, controlContractHandlers } from "./contracts/contracts.ts";
import { deliveryHandlers } from "./deliveries.ts";
import { deviceGrantHandlers } from "./device-grants.ts";
import { emailHandlers } from "./emails.ts";
import { eventHandlers } from "./events/describe-events.ts";
import { faultHandlers } from "./faults.ts";
import { invitationHandlers } from "./invitations.ts";
import { lifecycleHandlers } from "./lifecycle.ts";
import { metricsHandlers } from "./metrics/metrics.ts";
import { ownerHandlers } from "./owners.ts";
import { providerHandlers } from "./providers.ts";
import { requestHandlers } from "./requests.ts";
import { stateHandlers } from "./state/state.ts";
import { workspaceHandlers } from "./state/workspaces.ts";
import { traceHandlers } from "./traces.ts";
import { waitHandlers } from "./wait.ts";
import { controlWebhookHandlers } from "./webhooks.ts";

export const controlHandlers = {
  ...lifecycleHandlers,
  ...clockHandlers,
  ...requestHandlers,
  ...faultHandlers,
  ...ownerHandlers,
  ...controlWebhookHandlers,
  ...deliveryHandlers,
  ...controlContractHandlers,
  ...controlContractDetailHandlers,
  ...emailHandlers,
  ...invitationHandlers,
  ...activityHandlers,
  ...waitHandlers,
  ...traceHandlers,
  ...stateHandlers,
  ...workspaceHandlers,
  ...deviceGrantHandlers,
  ...providerHandlers,
  ...consoleHandlers,
  ...eventHandlers,
  ...tokenHandlers,
  ...metricsHandlers,
} satisfies Required<ControlHandlers>;
