import type { Store } from "../store/port.ts";
import { deviceGrants } from "./device/rows.ts";
import { trialSignups } from "./trial/signups.ts";

/**
 * Makes good again what a process that is gone had claimed: it can never finish what it asked a cluster for
 * (DECISIONS.md, E4).
 */
export async function releaseClaims(store: Store): Promise<void> {
  const claimed = { by: "claimed", equals: 1 } as const;
  const count = await store.read(
    async (view) => (await view.count(deviceGrants, claimed)) + (await view.count(trialSignups, claimed)),
  );
  if (count === 0) return;
  await store.transaction("release claims", async (tx) => {
    for (const row of await tx.list(deviceGrants, claimed)) tx.put(deviceGrants, { ...row, claimed: false });
    for (const row of await tx.list(trialSignups, claimed)) tx.put(trialSignups, { ...row, claimed: false });
  });
}
