import { billingHandlers } from "./apps/billing.ts";
import { chatAHandlers } from "./apps/chat-a.ts";
import { chatBHandlers } from "./apps/chat-b.ts";
import { crmAHandlers } from "./apps/crm-a.ts";
import { crmBHandlers } from "./apps/crm-b.ts";
import { mailerHandlers } from "./apps/mailer.ts";
import { deviceGrantHandlers } from "./device/device-grant.ts";
import { healthHandlers } from "./health.ts";
import { clusterHandlers } from "./mapping/clusters.ts";
import { mappingTableHandlers } from "./mapping/mapping-tables.ts";
import { signatoryHandlers } from "./mapping/signatories.ts";
import { oidcHandlers } from "./oidc/oidc.ts";
import { catchAllHandlers } from "./proxied/catch-all.ts";
import { proxiedHandlers } from "./proxied/proxied.ts";
import { trialHandlers } from "./trial/trial.ts";
import type { RouterHandlers } from "./world.ts";

/** The handlers of the routing service. */
export const routerHandlers = {
  ...healthHandlers,
  ...chatAHandlers,
  ...chatBHandlers,
  ...crmAHandlers,
  ...crmBHandlers,
  ...mappingTableHandlers,
  ...clusterHandlers,
  ...mailerHandlers,
  ...billingHandlers,
  ...trialHandlers,
  ...deviceGrantHandlers,
  ...oidcHandlers,
  ...signatoryHandlers,
  ...proxiedHandlers,
  ...catchAllHandlers,
} satisfies Required<RouterHandlers>;
