import type { IdsOf } from "../../src/api/registry.ts";
import type { Planned } from "../planned.ts";
import { billingHandlers } from "./billing.ts";
import { catchAllHandlers } from "./catch-all.ts";
import { chatAHandlers } from "./chat-a.ts";
import { chatBHandlers } from "./chat-b.ts";
import { clusterHandlers } from "./clusters.ts";
import { crmAHandlers } from "./crm-a.ts";
import { crmBHandlers } from "./crm-b.ts";
import { deviceGrantHandlers } from "./device-grant.ts";
import { healthHandlers } from "./health.ts";
import type { RouterHandlers } from "./home.ts";
import { mailerHandlers } from "./mailer.ts";
import { mappingTableHandlers } from "./mapping-tables.ts";
import { oidcHandlers } from "./oidc.ts";
import { proxiedHandlers } from "./proxied.ts";
import { signatoryHandlers } from "./signatories.ts";
import { trialHandlers } from "./trial.ts";

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
} satisfies RouterHandlers<Exclude<IdsOf<"router">, Planned>>;
