import type { showContent } from "../../../src/api/contracts/documents.ts";
import type { ResultOf } from "../../../src/api/operation.ts";
import { isoSeconds } from "../../../src/base/clock.ts";
import { wholeBody } from "../../http/bodies/whole.ts";
import type { Handlers } from "../../http/handler.ts";
import { requireInScope } from "../contracts/user-scope.ts";
import { pdfText } from "../pdf/pdf.ts";
import { busy } from "../pdf/reader.ts";
import { noSuchRow } from "../workspace/people.ts";
import type { ClusterWorld, Member } from "../world.ts";
import { bytesOf, latestDocument, sheetIfMade } from "./contract-pdf.ts";
import { pdfType } from "./inline-file.ts";

/** The text of a version, or of the PDF that is made of a template contract (DECISIONS.md, F19). */
export const contentOf: Handlers<"documents.content", ClusterWorld, Member>["documents.content"] = async (
  { params, query, headers },
  { store, blobs, pdfs, caller, fail, finding },
) => {
  const { row, sheet } = await store.read(async (view) => {
    const row = await requireInScope(view, caller, { params, headers }, fail);
    return { row, sheet: await sheetIfMade(view, row) };
  });
  const { contract_version_id: id, text_format } = query;
  const version = id === undefined ? row.versions.at(-1) : row.versions.find((each) => each.id === id);
  if (id !== undefined && !version) return fail("invalid-fields", { contract_version_id: [noSuchRow(id)] });

  const document = version ?? (await latestDocument(row, sheet, finding));
  const about = { contract_id: row.id, content_format: text_format };
  if (document?.content_type !== pdfType) return { ...about, extraction_status: "not_available" as const };
  const reading = await pdfText(await wholeBody(await bytesOf(blobs, document)), pdfs);
  if (reading === busy) return { ...about, extraction_status: "pending" as const };
  if (reading.problem !== undefined) {
    // The service has no words for it; the request log has.
    finding("unreadable-pdf", reading.problem);
    return { ...about, extraction_status: "failed" as const };
  }
  return {
    ...about,
    ...textIn(text_format, reading.lines),
    extraction_status: "completed" as const,
    last_updated: isoSeconds(version?.uploaded_at ?? row.updated_at),
  };
};

type Content = ResultOf<typeof showContent>;

const textIn = (format: Content["content_format"], lines: readonly string[]): Pick<Content, "content" | "segments"> =>
  format === "text" ? { content: lines.join("\n") } : { segments: lines.map((segment_text) => ({ segment_text })) };
