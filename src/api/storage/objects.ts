import * as z from "zod";
import { bytes, defineOperation, empty, stream } from "../operation.ts";
import { storage } from "../services.ts";

/** DECISIONS.md, C24 */
const maxUploadBytes = 5 * 1024 ** 3;

/** Algorithms of `x-amz-checksum-…`. */
export const checksumAlgorithms = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256"] as const;

/** All parameters are optional. A URL without one of them is rejected with 403, like any other tampered URL. */
const signature = z.object({
  "X-Sig-Date": z.string().optional().describe("Time of signing"),
  "X-Sig-Expires": z.string().optional().describe("Validity in seconds"),
  "X-Sig-SignedHeaders": z.string().optional().describe("Headers that the signature covers"),
  "X-Sig-Signature": z.string().optional().describe("Signature"),
});

const params = z.object({
  object_key: z.string().describe("Key of the stored object"),
  filename: z.string().describe("File name of the download"),
});

export const putObject = defineOperation({
  id: "storage.put",
  service: storage,
  summary: "Upload the bytes of a file to its signed URL",
  description: "The URL is reusable until it expires. The last PUT replaces the object.",
  method: "PUT",
  path: "/_storage/{object_key}/{filename}",
  auth: "none",
  request: { params, query: signature, body: stream({ maxBytes: maxUploadBytes }) },
  responses: { 200: empty() },
  failures: [
    "storage-two-mechanisms",
    "storage-expired",
    "storage-signature-mismatch",
    "storage-unsigned-headers",
    "storage-too-large",
    "storage-bad-digest",
    "storage-invalid-digest",
    "storage-incomplete-body",
    "storage-credentials",
    "storage-store-failed",
  ],
  cli: { by: "files upload" },
  basis: "specified",
  examples: [],
});

export const getObject = defineOperation({
  id: "storage.get",
  service: storage,
  summary: "Download a file from its signed URL",
  method: "GET",
  path: "/_storage/{object_key}/{filename}",
  auth: "none",
  request: { params, query: signature },
  responses: { 200: bytes("application/octet-stream") },
  failures: ["storage-two-mechanisms", "storage-expired", "storage-signature-mismatch", "storage-no-such-key"],
  cli: { by: "files download" },
  basis: { assumed: "The specification shows only that the download URL is signed. The style follows the upload URL." },
  examples: [],
});
