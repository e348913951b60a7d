import { createHash } from "node:crypto";
import type { StandIns } from "./stand-ins.ts";

/** A page without content. The comment makes it another file for another document. */
const blankPdf = (mark: string): string => {
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>",
  ];
  let text = `%PDF-1.4\n% ${mark}\n`;
  const places = objects.map((object, at) => {
    const place = text.length;
    text += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const table = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  const start = text.length;
  return `${text}xref\n0 4\n0000000000 65535 f \n${table}trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
};

/**
 * A stand-in for a file: its content is not stored. A PDF becomes a blank PDF, other bytes a short text. Undefined:
 * there is no file.
 */
export function standInFile(bytes: Buffer, standIns: StandIns): Buffer | undefined {
  if (bytes.length === 0) return undefined;
  const mark = standIns.token(createHash("sha256").update(bytes).digest("hex")).slice(0, 24);
  if (/^%PDF-/.test(bytes.subarray(0, 1024).toString("latin1"))) return Buffer.from(blankPdf(mark));
  return Buffer.from(`${mark}\n`);
}

/** Whether bytes are such a file. */
export const isStandInFile = (bytes: Buffer): boolean =>
  /^(?:%PDF-1\.4\n% )?5afe5afe[0-9a-f]{16}\n/.test(bytes.subarray(0, 60).toString("latin1"));
