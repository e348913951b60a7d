import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";
import * as z from "zod";
import { rows } from "../../store/port.ts";
import type { ClusterWorld } from "../world.ts";
import { PrivateJwk } from "./private-jwk.ts";
import { seededPrivateJwk } from "./seeded-rsa.ts";

/** The key that a cluster signs its tokens with: made once and kept (DECISIONS.md, R35). */
export const SigningKey = z.strictObject({ cluster_id: z.string(), jwk: PrivateJwk });
export type SigningKey = z.infer<typeof SigningKey>;

export const signingKeys = rows<SigningKey>({
  name: "signing_keys",
  schema: SigningKey,
  key: (row) => row.cluster_id,
  indexes: {},
});

/**
 * The cluster's key. Making one takes longer than starting an emulator, so it is made when it is first needed; under
 * --deterministic it follows from the cluster's own key, which follows from the seed.
 */
export async function signingKeyOf({
  store,
  cluster,
  settings,
}: Pick<ClusterWorld, "store" | "cluster" | "settings">): Promise<PrivateJwk> {
  const kept = await store.read((view) => view.get(signingKeys, cluster.id));
  if (kept) return kept.jwk;
  const jwk = settings.deterministic ? await seededPrivateJwk(`${cluster.id}\0${cluster.key}`) : await newPrivateJwk();
  return store.transaction("make a signing key", async (tx) => {
    // Of several requests that found none, the first to come here decides.
    const first = await tx.get(signingKeys, cluster.id);
    if (first) return first.jwk;
    tx.put(signingKeys, { cluster_id: cluster.id, jwk });
    return jwk;
  });
}

async function newPrivateJwk(): Promise<PrivateJwk> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
  return PrivateJwk.parse(privateKey.export({ format: "jwk" }));
}
