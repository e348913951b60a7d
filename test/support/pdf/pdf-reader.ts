import { after } from "node:test";
import { PdfReader } from "../../../emulator/cluster/pdf/reader.ts";
import { systemWallClock } from "../../../src/base/clock.ts";

/**
 * Starts a reader for all tests of a file, because its process takes a while to start. The reader is closed after the
 * tests.
 */
export function startPdfReader(): PdfReader {
  const reader = new PdfReader(systemWallClock);
  after(() => reader.close());
  return reader;
}
