import type { Fail } from "../../../src/api/failures.ts";
import { putObject } from "../../../src/api/storage/objects.ts";
import { isoSeconds } from "../../../src/base/clock.ts";
import { verifySignedUrl } from "../../../src/schemes/signed-url.ts";
import { attachmentHeader } from "../../http/attachment.ts";
import type { Call, Handlers } from "../../http/handler.ts";
import { reply } from "../../http/reply.ts";
import { BlobTooLarge } from "../../store/blobs.ts";
import { StoreFailed } from "../../store/port.ts";
import type { ClusterWorld } from "../world.ts";
import { type StoredObject, storageKeyOf, storedObjects } from "./objects.ts";
import { checkedUpload } from "./upload-checks.ts";

/** Any page may upload and download by a signed URL: the URL itself is the credential. */
const cors = { "access-control-allow-origin": "*", "access-control-expose-headers": "etag" } as const;

export const storageHandlers: Handlers<"storage.put" | "storage.get", ClusterWorld, unknown> = {
  "storage.put": async ({ params, body }, world) => {
    refuseCredentials(world);
    const object = await requireSigned("PUT", params.object_key, world);
    const { maxBytes } = putObject.request.body;
    // What says so at its beginning need not be taken first.
    if (Number(world.request.headers["content-length"]) > maxBytes) return refuseTooLarge(world, maxBytes);
    try {
      const bytes = checkedUpload(world.request.headers, body, idsOf(world), world.fail);
      const blob = await world.blobs.put(bytes, maxBytes);
      await world.store.transaction("storage.put", (tx) => tx.put(storedObjects, { ...object, blob }));
      return reply(200, undefined, { ...cors, etag: `"${blob.md5}"` });
    } catch (error) {
      if (error instanceof BlobTooLarge) return refuseTooLarge(world, maxBytes);
      if (error instanceof StoreFailed) return world.fail("storage-store-failed", idsOf(world));
      throw error;
    }
  },

  "storage.get": async ({ params }, world) => {
    const object = await requireSigned("GET", params.object_key, world);
    const content = object.blob && (await world.blobs.open(object.blob.sha256));
    if (!object.blob || !content) {
      return world.fail("storage-no-such-key", { key: `${object.key}/${object.filename}`, ...idsOf(world) });
    }
    return reply(200, content, {
      ...cors,
      "content-type": object.content_type,
      "content-length": String(object.blob.size),
      ...attachmentHeader(object.filename),
      etag: `"${object.blob.md5}"`,
    });
  },
};

/** What the storage's refusals end with. */
const idsOf = ({ ids, cluster }: Pick<ClusterWorld, "ids" | "cluster">) => ({
  requestId: ids.pick("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", 16),
  hostId: cluster.id,
});

const refuseTooLarge = (
  world: Pick<ClusterWorld, "ids" | "cluster"> & { readonly fail: Fail<"storage-too-large"> },
  maxBytes: number,
): never => world.fail("storage-too-large", { maxBytes, ...idsOf(world) });

type Refuse = Fail<"storage-expired" | "storage-signature-mismatch">;
type StorageCall = ClusterWorld & Pick<Call<never, unknown>, "request"> & { readonly fail: Refuse };

/** The object that a signed URL names. The virtual time at which the request came decides (DECISIONS.md, P24). */
async function requireSigned(method: "GET" | "PUT", key: string, world: StorageCall): Promise<StoredObject> {
  const { request, clock, store, cluster, fail } = world;
  // Any method that is declared nowhere ends here.
  if (request.method !== method) return fail("storage-signature-mismatch", idsOf(world));
  const nowMs = clock.now();
  const [object, signingKey] = await store.read(async (view) => [
    await view.get(storedObjects, key),
    await storageKeyOf(view, cluster.id),
  ]);
  if (!object || !signingKey) return fail("storage-signature-mismatch", idsOf(world));

  const verdict = verifySignedUrl({
    key: signingKey,
    method,
    // Signed for the public address, by which a proxy may ask under another name.
    url: (cluster.url === cluster.reachedAt ? request.origin : cluster.url) + request.target,
    contentType: request.headers["content-type"],
    nowMs,
  });
  if (verdict.ok) return object;
  if (verdict.reason === "mismatch") return fail("storage-signature-mismatch", idsOf(world));
  return fail("storage-expired", {
    lifetimeSeconds: verdict.expiresSeconds,
    expires: isoSeconds(verdict.expiresAtMs),
    now: isoSeconds(nowMs),
    ...idsOf(world),
  });
}

/** A credential must never reach the storage (the specification, Authentication; DECISIONS.md, C5). */
function refuseCredentials(
  world: ClusterWorld & Pick<Call<"storage-credentials", unknown>, "request" | "fail" | "finding">,
): void {
  const sent = ["client-id", "client-secret"].filter((name) => world.request.headers[name] !== undefined);
  if (sent.length === 0) return;
  if (world.settings.strict.has("storage")) world.fail("storage-credentials", idsOf(world));
  world.finding("credentials-on-storage", `${sent.join(" and ")} must not be sent to a signed URL`);
}
