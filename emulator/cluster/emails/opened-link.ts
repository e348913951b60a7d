import type { View } from "../../store/port.ts";
import { type Email, emailNamed } from "../../world/emails.ts";
import type { Contract } from "../contracts/rows.ts";
import type { ClusterWorld } from "../world.ts";
import { tellEmailEvent } from "./email-event.ts";

/**
 * Whoever opens the link of an e-mail has clicked it: the event is kept and told with the newest e-mail to that person
 * about the contract, once (DECISIONS.md, C23). Nothing happens where they were sent none.
 */
export async function linkOpened(
  { store, clock }: Pick<ClusterWorld, "store" | "clock">,
  { id, cluster_id }: Contract,
  recipient: string,
): Promise<void> {
  const unopened = async (view: View): Promise<Email | undefined> => {
    const email = await emailNamed(view, { cluster_id, contract_id: String(id), recipient });
    return email?.events.some(({ type }) => type === "Click") ? undefined : email;
  };
  if (!(await store.read(unopened))) return;
  await store.transaction("open the link of an e-mail", async (tx) => {
    const email = await unopened(tx);
    if (email) await tellEmailEvent(tx, clock, email, { type: "Click", detail: email.path });
  });
}
