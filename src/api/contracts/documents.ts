import * as z from "zod";
import { bytes, empty, json, operation } from "../operation.ts";
import { contracts } from "../services.ts";
import { compositeIdParam, contractIdParam } from "./records.ts";

const params = z.object({ composite_id: compositeIdParam });

export const downloadContract = operation({
  id: "documents.download",
  service: contracts,
  summary: "Download the newest PDF of a contract",
  description: "Of a template contract it is made from the template and the contract's data.",
  method: "POST",
  path: "/api/v2.1/public/contracts/{composite_id}/download",
  auth: "api-key",
  request: { params },
  responses: { 200: bytes("application/pdf") },
  failures: ["not-found", "no-document"],
  cli: { command: "contracts download" },
  basis: "public",
  examples: [{ title: "Keep a copy", params: { composite_id: "T-1" } }],
});

export const linkDownload = operation({
  id: "documents.link",
  service: contracts,
  summary: "Get a signed URL to download a contract from",
  method: "POST",
  path: "/api/v2.1/public/contracts/{composite_id}/download_link",
  auth: "api-key",
  request: {
    params,
    body: json(z.object({ format: z.enum(["PDF", "DOCX", "DOCX_WITH_FALLBACK_TO_PDF"]).default("PDF") }).prefault({})),
  },
  responses: {
    200: json(z.strictObject({ url: z.string(), file_name: z.string(), current_version_id: z.int().optional() })),
  },
  failures: ["not-found", "no-document"],
  cli: { command: "contracts download-link" },
  basis: "public",
  examples: [{ title: "A link for a person", params: { composite_id: "T-1" }, body: { format: "PDF" } }],
});

export const uploadVersion = operation({
  id: "documents.upload-version",
  service: contracts,
  summary: "Upload a new version of a contract's document",
  description: "PDF or DOCX. With is_executed_version the contract is executed outside the service.",
  method: "POST",
  path: "/api/v2.1/public/contracts/{contract_id}/contract_version/",
  auth: "api-key",
  request: {
    params: z.object({ contract_id: contractIdParam }),
    body: json(
      z.object({
        document_name: z.string().min(1).describe("Ending in .pdf or .docx"),
        document_base_64: z.string().min(1),
        collect_approvals: z.boolean().default(true),
        is_executed_version: z.boolean().default(false),
      }),
    ),
  },
  responses: { 201: empty() },
  failures: ["not-found", "forbidden-move"],
  emits: ["CONTRACT_VERSION_UPLOADED", "CONTRACT_EXECUTED"],
  cli: { command: "contracts upload-version" },
  basis: "public",
  examples: [
    {
      title: "The other side's changes",
      params: { contract_id: 1 },
      body: { document_name: "nda-v2.pdf", document_base_64: "JVBERi0xLjQK…" },
    },
  ],
});

export const addSupportingDocument = operation({
  id: "documents.add-supporting",
  service: contracts,
  summary: "Attach a supporting document to a contract",
  method: "POST",
  path: "/api/v2.1/public/supported_documents/{composite_id}/",
  auth: "api-key",
  request: {
    params,
    body: json(z.object({ name: z.string().min(1), file_name: z.string().min(1), file_base64: z.string().min(1) })),
  },
  responses: { 201: json(z.strictObject({ id: z.int(), name: z.string(), created: z.string() })) },
  failures: ["not-found"],
  cli: { command: "contracts add-document" },
  basis: "public",
  examples: [
    {
      title: "A price list",
      params: { composite_id: "T-1" },
      body: { name: "Prices", file_name: "prices.txt", file_base64: "MTAgRVVSCg==" },
    },
  ],
});
