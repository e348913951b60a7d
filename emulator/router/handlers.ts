import type { Store } from "../store/port.ts";
import { billingHandlers } from "./apps/billing.ts";
import { chatAHandlers } from "./apps/chat-a.ts";
import { chatBHandlers } from "./apps/chat-b.ts";
import { crmHandlers } from "./apps/crm.ts";
import { mailerHandlers } from "./apps/mailer.ts";
import type { RouterHandlers } from "./context.ts";
import { deviceGrantHandlers } from "./device/device-grant.ts";
import { deviceGrants } from "./device/rows.ts";
import { mappingTableHandlers } from "./mapping/mapping-tables.ts";
import { oidcHandlers } from "./oidc.ts";
import { proxiedHandlers } from "./proxied/proxied-routes.ts";
import { trialSignups } from "./trial/signups.ts";
import { trialHandlers } from "./trial/trial.ts";

export const routerHandlers = {
  // `database` is false with status 200 if the store cannot write (DECISIONS.md, R20).
  "health.show": (_, { store }) => ({ database: store.writable }),
  ...chatAHandlers,
  ...chatBHandlers,
  ...crmHandlers,
  ...mappingTableHandlers,
  ...mailerHandlers,
  ...billingHandlers,
  ...trialHandlers,
  ...deviceGrantHandlers,
  ...oidcHandlers,
  ...proxiedHandlers,
} satisfies Required<RouterHandlers>;

/** A process that has stopped cannot finish its requests to clusters (DECISIONS.md, E4). */
export async function releaseClaims(store: Store): Promise<void> {
  const claimedSlice = { by: "claimed", equals: 1 } as const;
  await store.transaction("release claims", (tx) => {
    for (const row of tx.list(deviceGrants, claimedSlice)) tx.put(deviceGrants, { ...row, claimed: false });
    for (const row of tx.list(trialSignups, claimedSlice)) tx.put(trialSignups, { ...row, claimed: false });
  });
}
