import * as z from "zod";
import { putObject } from "../../../src/api/storage/objects.ts";
import { toIsoSeconds } from "../../../src/base/clock.ts";
import { trimTrailing } from "../../../src/base/text.ts";
import { hasUrlSignature, signUrl, verifySignedUrl } from "../../../src/schemes/signed-url.ts";
import type { Workspace } from "../../domain/workspaces.ts";
import { type HandlerCall, inTransaction, type OperationHandlers } from "../../http/handler.ts";
import { createAttachmentHeader, reply } from "../../http/reply.ts";
import { Blob, BlobTooLargeError } from "../../store/blobs.ts";
import {
  defineRows,
  StoreFailedError,
  storedTime,
  type Transaction,
  UnconfirmedWriteError,
  type View,
} from "../../store/port.ts";
import type { ClusterContext, ClusterHandlers } from "../context.ts";
import { verifyUpload } from "./upload-checks.ts";

/** Any page can upload and download by a signed URL, because the URL itself is the credential. */
const corsHeaders = { "access-control-allow-origin": "*", "access-control-expose-headers": "etag" } as const;

/** Any header of the storage that neither describes the bytes nor identifies the client (DECISIONS.md, C5). */
const unsignedHeader = /^x-amz-(?!(?:checksum|content|decoded|sdk|user)-|date$|trailer$)/;

export const storageHandlers: OperationHandlers<"storage.put" | "storage.get", ClusterContext, unknown> = {
  "storage.put": async ({ params, body }, context) => {
    rejectCredentials(context);
    const object = requireSignedObject("PUT", params.object_key, context);
    const unsigned = Object.keys(context.request.headers).filter((name) => unsignedHeader.test(name));
    if (unsigned.length > 0) {
      return context.fail("storage-unsigned-headers", { headers: unsigned, ...createRequestIds(context) });
    }
    const { maxBytes } = putObject.request.body;
    const rejectOversized = () => context.fail("storage-too-large", { maxBytes, ...createRequestIds(context) });
    // A file is not read if its declared length exceeds the limit.
    if (Number(context.request.headers["content-length"]) > maxBytes) return rejectOversized();
    try {
      const bytes = verifyUpload(context.request.headers, body, createRequestIds(context), context.fail);
      const blob = await context.blobs.put(bytes, maxBytes);
      await context.store.transaction("storage.put", (tx) => {
        // While the bytes arrived, the workspace can have been removed.
        if (!tx.get(storedObjects, object.key))
          return context.fail("storage-signature-mismatch", createRequestIds(context));
        return tx.put(storedObjects, { ...object, blob });
      });
      return reply(200, undefined, { ...corsHeaders, etag: `"${blob.md5}"` });
    } catch (error) {
      if (error instanceof BlobTooLargeError) return rejectOversized();
      if (error instanceof StoreFailedError && !(error instanceof UnconfirmedWriteError))
        return context.fail("storage-store-failed", createRequestIds(context));
      throw error;
    }
  },

  "storage.get": async ({ params }, context) => {
    const object = requireSignedObject("GET", params.object_key, context);
    const content = object.blob && (await context.blobs.open(object.blob.sha256));
    if (!object.blob || !content) {
      return context.fail("storage-no-such-key", {
        key: `${object.key}/${object.filename}`,
        ...createRequestIds(context),
      });
    }
    return reply(200, content, {
      ...corsHeaders,
      "content-type": object.content_type,
      "content-length": String(object.blob.size),
      ...createAttachmentHeader(object.filename),
      etag: `"${object.blob.md5}"`,
    });
  },
};

const createRequestIds = ({ ids, cluster }: Pick<ClusterContext, "ids" | "cluster">) => ({
  requestId: ids.pick("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", 16),
  hostId: cluster.id,
});

type StorageCall = ClusterContext &
  HandlerCall<"storage-two-mechanisms" | "storage-expired" | "storage-signature-mismatch", unknown>;

/** The expiry is compared with the virtual time of the request's arrival (DECISIONS.md, P24). */
function requireSignedObject(method: "GET" | "PUT", key: string, context: StorageCall): StoredObject {
  const { request, clock, store, cluster, fail } = context;
  // Undeclared methods also reach this function.
  if (request.method !== method) return fail("storage-signature-mismatch", createRequestIds(context));
  if (request.headers.authorization && hasUrlSignature(request.parsedTarget.search))
    return fail("storage-two-mechanisms", createRequestIds(context));
  const nowMs = clock.now();
  const [object, signingKey] = [store.get(storedObjects, key), findStorageKey(store, cluster.id)];
  if (!object || !signingKey) return fail("storage-signature-mismatch", createRequestIds(context));

  const signedRequest = {
    key: signingKey,
    method,
    // The URL is signed for the public address, because a proxy can send a different host.
    url: (cluster.url === cluster.internalUrl ? request.origin : cluster.url) + request.target,
    contentType: request.headers["content-type"],
    nowMs,
  };
  const verdict = verifySignedUrl(signedRequest);
  if (verdict.ok) return object;
  if (verdict.reason === "mismatch") {
    const { content_type } = object;
    if (verifySignedUrl({ ...signedRequest, contentType: content_type }).ok)
      context.finding("other-content-type", `the URL was signed for the Content-Type ${content_type}`);
    return fail("storage-signature-mismatch", createRequestIds(context));
  }
  return fail("storage-expired", {
    lifetimeSeconds: verdict.expiresSeconds,
    expires: toIsoSeconds(verdict.expiresAtMs),
    now: toIsoSeconds(nowMs),
    ...createRequestIds(context),
  });
}

/** Credentials must never reach the storage (specification, Authentication; DECISIONS.md, C5). */
function rejectCredentials(context: ClusterContext & HandlerCall<"storage-credentials", unknown>): void {
  const sentHeaders = ["client-id", "client-secret"].filter((name) => context.request.headers[name] !== undefined);
  if (sentHeaders.length === 0) return;
  if (context.settings.strict.has("storage")) context.fail("storage-credentials", createRequestIds(context));
  context.finding("credentials-on-storage", `${sentHeaders.join(" and ")} must not be sent to a signed URL`);
}

/** The list is loaded on demand, because few files need it (DECISIONS.md, F7). */
async function findExtension(contentType: string): Promise<string | undefined> {
  // A split bundle that imports a CommonJS package dynamically only gets `default`.
  const { default: mediaTypes } = await import("mime-types");
  // `.bin` would add no information about arbitrary bytes.
  return contentType === "application/octet-stream" ? undefined : mediaTypes.extension(contentType) || undefined;
}

const maxObjectKeyLength = 255;

/** Replaces characters that file systems reject, limits the length to 255 and adds a missing extension. */
export function sanitizeFilename(name: string, defaultExtension: string | undefined): string {
  const filename = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  const safeName = shortenMiddle(trimTrailing(filename, ". "))
    .normalize("NFC")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it removes them
    .replace(/[\u0000-\u001f\u007f-\u009f<>:"|?*\u202a-\u202e\u2066-\u2069]/g, "_")
    // A lone surrogate is not valid in a URL.
    .replace(/\p{Surrogate}/gu, "_")
    .replace(/\s+/g, " ")
    .replace(/^[. ]+/, "");
  const base = trimTrailing(safeName, ". ") || "file";
  const ownExtension = /\.[A-Za-z0-9]{1,10}$/.exec(base)?.[0];
  const extension = ownExtension ?? (defaultExtension ? `.${defaultExtension}` : "");
  const stem = ownExtension ? base.slice(0, -ownExtension.length) : base;
  return `${[...stem].slice(0, maxObjectKeyLength - extension.length).join("")}${extension}`;
}

/** Returns the start and the end of a far too long name, because processing all of it is slow. */
const shortenMiddle = (name: string): string =>
  name.length <= 8 * maxObjectKeyLength
    ? name
    : name.slice(0, 4 * maxObjectKeyLength) + name.slice(-4 * maxObjectKeyLength);

export const fileHandlers = {
  "files.initialize": async ({ body }, context) => {
    const fileNames = await Promise.all(
      body.files.map(async ({ filename, content_type }) => ({
        filename: sanitizeFilename(filename, await findExtension(content_type)),
        content_type,
      })),
    );
    return context.store.transaction("files.initialize", (tx) => ({
      files: fileNames.map(({ filename, content_type }) => {
        const object: StoredObject = {
          key: context.ids.uuid(),
          cluster_id: context.cluster.id,
          workspace_id: context.caller.workspace.id,
          purpose: "workspace-file",
          filename,
          content_type,
          created_at: context.clock.now(),
          blob: null,
        };
        tx.put(storedObjects, object);
        const { url, expiresAtMs } = signObjectUrl(tx, context, "PUT", object);
        return { file_id: object.key, filename, upload_url: url, expires_at: toIsoSeconds(expiresAtMs) };
      }),
    }));
  },

  "files.show": inTransaction((tx, { params }, context) => {
    const file = getWorkspaceFile(tx, context.caller.workspace, params.file_id) ?? context.fail("not-found");
    return { signed_url: signObjectUrl(tx, context, "GET", file).url };
  }),
} satisfies ClusterHandlers;

/** A file exists once it is initialized. */
export function getWorkspaceFile(view: View, workspace: Workspace, fileId: string) {
  const object = view.get(storedObjects, fileId.toLowerCase());
  return object?.purpose === "workspace-file" && object.workspace_id === workspace.id ? object : undefined;
}

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
  blob: Blob.nullable(),
});
export type StoredObject = z.infer<typeof StoredObject>;

export const storedObjects = defineRows({ name: "stored_objects", schema: StoredObject, key: (row) => row.key });

const StorageKey = z.strictObject({ cluster_id: z.string(), key: z.string() });

/** Keys that sign the URLs of clusters. They are part of the state, so URLs survive a restart. */
export const storageKeys = defineRows({ name: "storage_keys", schema: StorageKey, key: (row) => row.cluster_id });

/** See DECISIONS.md, C5. */
const signedUrlLifetimeSeconds = 15 * 60;

type SigningContext = Pick<ClusterContext, "cluster" | "clock" | "ids">;

/**
 * The URL is valid for one method, for 15 virtual minutes. A PUT is bound to the content type. The first URL of a
 * cluster creates the signing key.
 */
export function signObjectUrl(
  tx: Transaction,
  context: SigningContext,
  method: "GET" | "PUT",
  object: Pick<StoredObject, "key" | "filename" | "content_type">,
) {
  return signUrl({
    key: getSigningKey(tx, context),
    method,
    url: `${context.cluster.url}/_storage/${object.key}/${encodeURIComponent(object.filename)}`,
    contentType: method === "PUT" ? object.content_type : undefined,
    nowMs: context.clock.now(),
    expiresSeconds: signedUrlLifetimeSeconds,
  });
}

function getSigningKey(tx: Transaction, { cluster, ids }: SigningContext): Buffer {
  const existingKey = findStorageKey(tx, cluster.id);
  if (existingKey) return existingKey;
  const key = ids.bytes(32);
  tx.put(storageKeys, { cluster_id: cluster.id, key: key.toString("base64") });
  return key;
}

/** Returns undefined before the first URL of the cluster is signed. */
function findStorageKey(view: View, clusterId: string): Buffer | undefined {
  const row = view.get(storageKeys, clusterId);
  return row && Buffer.from(row.key, "base64");
}
