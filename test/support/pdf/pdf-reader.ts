import { after } from "node:test";
import { PdfReader } from "../../../emulator/cluster/pdf/reader.ts";
import { systemWallClock } from "../../../src/base/clock.ts";

/** A reader for all tests of a file, which ends with them: its process takes a while to start. */
export function pdfReader(): PdfReader {
  const reader = new PdfReader(systemWallClock);
  after(() => reader.close());
  return reader;
}
