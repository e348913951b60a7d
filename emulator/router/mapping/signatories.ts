import * as z from "zod";
import { defineRows } from "../../store/port.ts";
import type { RouterHandlers } from "../context.ts";

type SignatoryInput = Pick<SignatoryMapping, "signatory_hash" | "cluster"> & {
  readonly uuid?: string | null | undefined;
};

export const signatoryHandlers = {
  "signatories.add": async ({ body }, { clusters, store, fail }) => {
    const inputs: readonly SignatoryInput[] = Array.isArray(body) ? body : [body];
    for (const { cluster } of inputs) {
      if (!clusters.some(({ id }) => id === cluster)) fail("unknown-cluster", { cluster });
    }
    return store.transaction("signatories.add", async (tx) => {
      // The newest row has the highest ID, which is reused if the row is deleted.
      const [newestRow] = await tx.list(signatories, { reverse: true, limit: 1 });
      let lastId = newestRow?.id ?? 0;
      const rows: SignatoryMapping[] = [];
      for (const { signatory_hash, cluster, uuid = null } of inputs) {
        const existing = await tx.get(signatories, buildSignatoryKey(cluster, signatory_hash));
        const row = existing ?? { id: lastId + 1, uuid, cluster, signatory_hash };
        if (!existing) tx.put(signatories, row);
        lastId = Math.max(lastId, row.id);
        rows.push(row);
      }
      return rows;
    });
  },
} satisfies RouterHandlers;

/** A contract signatory and a cluster that has a contract of this signatory (DECISIONS.md, R33). */
export const SignatoryMapping = z.strictObject({
  id: z.int(),
  uuid: z.string().nullable(),
  cluster: z.string(),
  signatory_hash: z.string(),
});
export type SignatoryMapping = z.infer<typeof SignatoryMapping>;

export const signatories = defineRows<SignatoryMapping, "hash", string>({
  name: "signatories",
  schema: SignatoryMapping,
  // The same hash and cluster identify the same row. A cluster ID contains no line break.
  key: (row) => buildSignatoryKey(row.cluster, row.signatory_hash),
  indexes: { hash: (row) => row.signatory_hash },
});

export const buildSignatoryKey = (cluster: string, hash: string): string => `${cluster}\n${hash}`;
