import * as z from "zod";
import { bytes, defineOperation, empty, json } from "../operation.ts";
import { contractOperation, publicOperation } from "../services.ts";
import { dictionary, timestamp } from "../shapes.ts";
import { activitiesCausedBy } from "./lifecycle.ts";
import { base64, compositeParams, contractParams, examplePdf, noEffectNote, userScoping } from "./shapes.ts";

export const downloadContract = defineOperation({
  id: "documents.download",
  ...publicOperation,
  summary: "Download the newest PDF of a contract",
  description: "For a template contract, the PDF is rendered from the template and the contract's data.",
  method: "POST",
  path: "/api/v2.1/public/contracts/{composite_id}/download",
  request: { params: compositeParams },
  responses: { 200: bytes("application/pdf") },
  failures: ["not-found", "no-document"],
  cli: { command: "contracts download" },
  examples: [{ title: "Save a copy", params: { composite_id: "T-1" } }],
});

export const downloadDocx = defineOperation({
  id: "documents.download-docx",
  ...publicOperation,
  summary: "Download the DOCX of a contract",
  method: "POST",
  path: "/api/v2.1/public/contracts/{contract_id}/download_docx/",
  request: {
    params: contractParams,
    body: json(
      z
        .object({
          fallback_to_last_available_docx: z
            .boolean()
            .default(false)
            .describe("Use an older DOCX if the newest version is not a DOCX"),
        })
        .prefault({}),
    ),
  },
  responses: { 200: bytes("application/vnd.openxmlformats-officedocument.wordprocessingml.document") },
  failures: ["not-found", "no-document"],
  cli: { command: "contracts download-docx" },
  examples: [
    { title: "Save an editable copy", params: { contract_id: 1 }, body: { fallback_to_last_available_docx: true } },
  ],
});

export const showContent = defineOperation({
  id: "documents.content",
  ...contractOperation,
  summary: "Show the text of a contract's document",
  description:
    "Reads PDFs, including the rendered PDF of a template contract, but not DOCX. A PDF that exceeds the limits of time, memory or nesting has the status failed. While too many PDFs are queued, the status is pending.",
  path: "/api/v2.1/public/contracts/{composite_id}/content",
  request: {
    params: compositeParams,
    query: z.object({
      contract_version_id: z.int().optional().describe("Uploaded version (default: the newest)"),
      text_format: z.enum(["text", "segments"]).default("text").describe("One text, or a list of segments"),
    }),
    headers: userScoping,
  },
  responses: {
    200: json(
      z.strictObject({
        contract_id: z.int(),
        content_format: z.enum(["text", "segments"]),
        content: z.string().optional(),
        segments: z.array(z.strictObject({ segment_text: z.string() })).optional(),
        extraction_status: z.enum(["completed", "pending", "failed", "not_available"]),
        last_updated: timestamp.optional(),
      }),
    ),
  },
  failures: ["not-found"],
  cli: { command: "contracts content" },
  basis: { assumed: "The keys are public. The extent of a segment is not: here it is a line." },
  examples: [{ title: "Show the text of a contract", params: { composite_id: "T-1" } }],
});

export const linkDownload = defineOperation({
  id: "documents.link",
  ...publicOperation,
  summary: "Get a signed download URL for a contract",
  method: "POST",
  path: "/api/v2.1/public/contracts/{composite_id}/download_link",
  request: {
    params: compositeParams,
    body: json(
      z
        .object({
          format: z
            .enum(["PDF", "DOCX", "DOCX_WITH_FALLBACK_TO_PDF"])
            .default("PDF")
            .describe("Format of the document"),
        })
        .prefault({}),
    ),
  },
  responses: {
    200: json(z.strictObject({ url: z.string(), file_name: z.string(), current_version_id: z.int().optional() })),
  },
  failures: ["not-found", "no-document"],
  cli: { command: "contracts download-link" },
  examples: [{ title: "Get a download link", params: { composite_id: "T-1" }, body: { format: "PDF" } }],
});

export const previewDocument = defineOperation({
  id: "documents.preview",
  ...contractOperation,
  summary: "Preview the document of a template and its data",
  description: "Creates no contract. Required answers are optional here.",
  method: "POST",
  path: "/api/v2.1/public/contracts/preview/",
  request: {
    body: json(
      z.object({
        contract_template_id: z.int().describe("A template of the workspace"),
        contract_data: dictionary(z.unknown()).default({}).describe("Answers to the template's attributes"),
      }),
    ),
  },
  responses: { 200: bytes("application/pdf") },
  cli: { command: "contracts preview" },
  basis: {
    assumed: "The input (a template and data) and the output (a PDF) are public. The names of the two fields are not.",
  },
  examples: [
    { title: "Preview a contract before creating it", body: { contract_template_id: 101, contract_data: {} } },
  ],
});

export const uploadVersion = defineOperation({
  id: "documents.upload-version",
  ...publicOperation,
  summary: "Upload a new version of a contract's document",
  description: "Accepts a PDF or DOCX. With is_executed_version, the contract counts as executed outside the service.",
  method: "POST",
  path: "/api/v2.1/public/contracts/{contract_id}/contract_version/",
  request: {
    params: contractParams,
    body: json(
      z.object({
        document_name: z.string().min(1).describe("Name of the document, ending in .pdf or .docx"),
        document_base_64: base64(z.string().min(1), "Document in base64"),
        collect_approvals: z.boolean().default(true).describe(`Request the approvals again; ${noEffectNote}`),
        is_executed_version: z.boolean().default(false).describe("The version is signed by all parties"),
      }),
    ),
  },
  responses: { 201: empty() },
  failures: ["not-found", "forbidden-move", "pdfs-busy"],
  emits: activitiesCausedBy("upload-version", "upload-executed-version", "executed-outside"),
  cli: { command: "contracts upload-version" },
  examples: [
    {
      title: "Upload the counterparty's changes",
      params: { contract_id: 1 },
      body: { document_name: "nda-v2.pdf", document_base_64: examplePdf },
    },
  ],
});

export const addSupportingDocument = defineOperation({
  id: "documents.add-supporting",
  ...publicOperation,
  summary: "Attach a supporting document to a contract",
  method: "POST",
  path: "/api/v2.1/public/supported_documents/{composite_id}/",
  request: {
    params: compositeParams,
    body: json(
      z.object({
        name: z.string().min(1).describe("Name of the document on the contract"),
        file_name: z.string().min(1).describe("Name of the file"),
        file_base64: base64(z.string().min(1), "File in base64"),
      }),
    ),
  },
  responses: { 201: json(z.strictObject({ id: z.int(), name: z.string(), created: timestamp })) },
  failures: ["not-found"],
  cli: { command: "contracts add-document" },
  examples: [
    {
      title: "Attach a price list",
      params: { composite_id: "T-1" },
      body: { name: "Prices", file_name: "prices.txt", file_base64: "MTAgRVVSCg==" },
    },
  ],
});
