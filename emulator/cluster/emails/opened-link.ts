import { emails } from "../../world/emails.ts";
import type { Contract } from "../contracts/rows.ts";
import type { ClusterWorld } from "../world.ts";
import { report } from "./report.ts";

/**
 * Whoever opens the link of an e-mail has clicked it: the event is kept and told with the newest e-mail that holds that
 * link (DECISIONS.md, C23). Nothing happens where no e-mail does.
 */
export async function linkOpened(
  { store, clock }: Pick<ClusterWorld, "store" | "clock">,
  { id }: Contract,
  target: string,
): Promise<void> {
  // The page itself stands in e-mails to nobody in particular: only a link with a recipient in it says who clicked.
  if (!target.includes("?")) return;
  const ofContract = { by: "contract", equals: id, reverse: true } as const;
  const sent = await store.read(async (view) =>
    (await view.list(emails, ofContract)).find(({ path }) => path === target),
  );
  if (!sent) return;
  await store.transaction("open the link of an e-mail", async (tx) => {
    const email = await tx.get(emails, String(sent.id));
    if (email) await report(tx, clock, email, { type: "Click", detail: target });
  });
}
