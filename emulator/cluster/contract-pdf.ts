import { isoSeconds } from "../../src/base/clock.ts";
import type { Blobs } from "../store/blobs.ts";
import type { View } from "../store/store.ts";
import { type Contract, compositeId, referenceId, type Version } from "./contract-rows.ts";
import { keepFile, pdfType } from "./inline-file.ts";
import type { Sheet } from "./pdf/render.ts";
import { entities, templates } from "./workspaces.ts";

/** A document to hand out: a version that was uploaded, or one that is made now. */
export interface Document {
  readonly file_name: string;
  readonly content_type: string;
  readonly blob: Version["blob"];
  readonly version_id?: number;
}

export const docxType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/** The newest version of a type; undefined when none was uploaded. */
export function newestVersion({ versions }: Contract, contentType: string): Document | undefined {
  const found = versions.findLast((version) => version.content_type === contentType);
  return found && { ...found, version_id: found.id };
}

/** The PDF of a template contract, made from the template and the data, and kept among the blobs. */
export async function madePdf(blobs: Blobs, sheet: Sheet): Promise<Document> {
  const { renderPdf } = await import("./pdf/render.ts");
  const blob = await keepFile(blobs, await renderPdf(sheet));
  return { file_name: `${sheet.title.replace(/[^\w .-]+/g, "_")}.pdf`, content_type: pdfType, blob };
}

/** The bytes of a document that the contract names. */
export function bytesOf(blobs: Blobs, { sha256 }: Version["blob"]): AsyncIterable<Uint8Array> {
  const bytes = blobs.open(sha256);
  if (!bytes) throw new Error(`The bytes ${sha256} of a document are gone`);
  return bytes;
}

/** What the document of a template contract says. */
export async function sheetOf(view: View, row: Contract): Promise<Sheet> {
  const template = row.template_id === null ? undefined : await view.get(templates, String(row.template_id));
  const entity = row.entity_id === null ? undefined : await view.get(entities, String(row.entity_id));
  const labels = new Map(template?.attributes.map(({ variable, display_label }) => [variable, display_label]));
  const parties = [entity?.name, ...row.counterparties.map((party) => party.name)].filter((name) => name !== undefined);
  return {
    title: row.name,
    subtitle: `${template?.name ?? ""} - ${compositeId(row)} - ${referenceId(row)}`,
    rows: [
      ["Parties", parties.join(" and ")],
      ...Object.entries(row.contract_data).map(
        ([variable, answer]) => [labels.get(variable) ?? variable, textOf(answer)] as const,
      ),
      ...row.signatories.map(({ name, title, action }) => {
        const signed = action?.is_success ? `signed ${isoSeconds(action.at)}` : "not signed";
        return ["Signature", `${name}${title ? `, ${title}` : ""}: ${signed}`] as const;
      }),
    ],
    at: row.updated_at,
  };
}

const textOf = (answer: unknown): string => (typeof answer === "string" ? answer : JSON.stringify(answer));
