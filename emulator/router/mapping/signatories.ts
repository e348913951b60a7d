import type { Transaction } from "../../store/port.ts";
import type { RouterHandlers } from "../world.ts";
import { type SignatoryMapping, signatories, signatoryKey } from "./signatory-rows.ts";

type New = Pick<SignatoryMapping, "signatory_hash" | "cluster"> & { readonly uuid?: string | null | undefined };

export const signatoryHandlers = {
  "signatories.add": async ({ body }, { clusters, store, fail }) => {
    const given: readonly New[] = Array.isArray(body) ? body : [body];
    for (const { cluster } of given) {
      if (!clusters.some(({ id }) => id === cluster)) fail("unknown-cluster", { cluster });
    }
    return store.transaction("signatories.add", async (tx) => {
      const stored: SignatoryMapping[] = [];
      for (const signatory of given) stored.push(await addOnce(tx, signatory));
      return stored;
    });
  },
} satisfies RouterHandlers;

async function addOnce(tx: Transaction, { signatory_hash, cluster, uuid }: New): Promise<SignatoryMapping> {
  const known = await tx.get(signatories, signatoryKey(cluster, signatory_hash));
  if (known) return known;
  // No row is ever removed, so the newest one has the highest id.
  const [newest] = await tx.list(signatories, { reverse: true, limit: 1 });
  const row = { id: (newest?.id ?? 0) + 1, uuid: uuid ?? null, cluster, signatory_hash };
  tx.put(signatories, row);
  return row;
}
