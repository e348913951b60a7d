import * as z from "zod";
import { type SignedUrl, signUrl } from "../../../src/schemes/signed-url.ts";
import { defineRows, storedTime, type Transaction, type View } from "../../store/port.ts";
import type { ClusterContext } from "../context.ts";

/** An object in the signed storage: a workspace file, or a document for download. */
export const StoredObject = z.strictObject({
  /** UUID, which is the `file_id` of a workspace file. */
  key: z.string(),
  cluster_id: z.string(),
  workspace_id: z.int(),
  purpose: z.enum(["workspace-file", "document"]),
  filename: z.string(),
  /** Content type of the initialization. The PUT must have exactly this value. */
  content_type: z.string(),
  created_at: storedTime(z.number()),
  /** The bytes. Null until they are uploaded. */
  blob: z.strictObject({ sha256: z.string(), md5: z.string(), size: z.int() }).nullable(),
});
export type StoredObject = z.infer<typeof StoredObject>;

export const storedObjects = defineRows({ name: "stored_objects", schema: StoredObject, key: (row) => row.key });

const StorageKey = z.strictObject({ cluster_id: z.string(), key: z.string() });

/** Keys that sign the URLs of clusters. They are part of the state, so URLs survive a restart. */
export const storageKeys = defineRows({ name: "storage_keys", schema: StorageKey, key: (row) => row.cluster_id });

/** See DECISIONS.md, C5. */
export const signedUrlLifetimeSeconds = 15 * 60;

type SigningContext = Pick<ClusterContext, "cluster" | "clock" | "ids">;

/**
 * The URL is valid for one method, for 15 virtual minutes. A PUT is bound to the content type. The first URL of a
 * cluster creates the signing key.
 */
export async function signObjectUrl(
  tx: Transaction,
  context: SigningContext,
  method: "GET" | "PUT",
  object: Pick<StoredObject, "key" | "filename" | "content_type">,
): Promise<SignedUrl> {
  return signUrl({
    key: await getSigningKey(tx, context),
    method,
    url: `${context.cluster.url}/_storage/${object.key}/${encodeURIComponent(object.filename)}`,
    contentType: method === "PUT" ? object.content_type : undefined,
    nowMs: context.clock.now(),
    expiresSeconds: signedUrlLifetimeSeconds,
  });
}

async function getSigningKey(tx: Transaction, { cluster, ids }: SigningContext): Promise<Buffer> {
  const existingKey = await findStorageKey(tx, cluster.id);
  if (existingKey) return existingKey;
  const key = ids.bytes(32);
  tx.put(storageKeys, { cluster_id: cluster.id, key: key.toString("base64") });
  return key;
}

/** Returns undefined before the first URL of the cluster is signed. */
export async function findStorageKey(view: View, clusterId: string): Promise<Buffer | undefined> {
  const row = await view.get(storageKeys, clusterId);
  return row && Buffer.from(row.key, "base64");
}
