import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { specifiedOperation } from "../services.ts";
import { timestamp } from "../shapes.ts";

export const UploadRequest = z.object({
  files: z
    .array(
      z.object({
        filename: z.string().min(1).describe("Name of the file; sanitized, with an extension added if it has none"),
        content_type: z
          .string()
          .trim()
          // The storage compares the type byte for byte with the Content-Type of the PUT, so the type must be a valid
          // header value.
          .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( *; *[\w!#$&^.+-]+=("[^"\\\r\n]*"|[\w!#$&^.+-]+))*$/, {
            error: "Value should be a MIME type such as application/pdf",
          })
          .describe("MIME type; the PUT must send exactly this Content-Type"),
      }),
    )
    .min(1)
    .max(50)
    .describe("The files to upload, 1 to 50"),
});

export const Uploads = z.strictObject({
  files: z.array(
    z.strictObject({ file_id: z.string(), filename: z.string(), upload_url: z.string(), expires_at: timestamp }),
  ),
});

export const initializeUploads = defineOperation({
  id: "files.initialize",
  ...specifiedOperation,
  summary: "Get signed URLs to upload files to",
  description: "Each URL accepts the raw bytes by PUT until expires_at, without client-id and client-secret.",
  method: "POST",
  path: "/api/v2.1/public/workspace/files/uploads/",
  request: { body: json(UploadRequest) },
  responses: { 200: json(Uploads) },
  cli: { command: "files initialize", rows: "files", columns: ["file_id", "filename", "expires_at", "upload_url"] },
  examples: [{ title: "Upload one PDF", body: { files: [{ filename: "msa.pdf", content_type: "application/pdf" }] } }],
});

export const showFile = defineOperation({
  id: "files.show",
  ...specifiedOperation,
  summary: "Get a signed URL to download a file from",
  path: "/api/v2.1/public/workspace/files/{file_id}/",
  request: { params: z.object({ file_id: z.string().describe("file_id of the upload") }) },
  responses: { 200: json(z.strictObject({ signed_url: z.string() })) },
  failures: ["not-found"],
  cli: { command: "files show" },
  examples: [
    { title: "Get the download URL of an attachment", params: { file_id: "4d0b0f5e-8f4b-4f43-9c4e-0a3c5a2f6f10" } },
  ],
});
