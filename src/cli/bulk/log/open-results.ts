import { dirname } from "node:path";
import { type Disk, type DiskFile, isMissing } from "../../../files/disk.ts";
import { resultsHeader } from "./results.ts";

/** The results of a job that runs: rows of CSV that are written before the lines of the log that count on them. */
export class OpenResults {
  readonly #file: DiskFile;
  /** Bytes that are on the disk. */
  #written: number;
  #waiting: string[] = [];
  #waitingBytes = 0;

  private constructor(file: DiskFile, length: number) {
    this.#file = file;
    this.#written = length;
  }

  /** Opens the file, or makes it, and cuts it back to what the log counts on. Tells when that is not there. */
  static async open(
    disk: Disk,
    path: string,
    length: number,
    report: (message: string) => Promise<void>,
  ): Promise<OpenResults> {
    const header = Buffer.from(resultsHeader);
    const file = await openOrCreate(disk, path);
    const size = await file.size();
    if (size < length) await report(`${path} was truncated: earlier failed rows are missing`);
    const kept = Math.min(size, length);
    await file.truncate(kept < header.byteLength ? 0 : kept);
    if (kept < header.byteLength) await file.write(header, 0);
    await file.sync();
    return new OpenResults(file, Math.max(kept, header.byteLength));
  }

  /** Of the file, once all that was added is written, in bytes. */
  get length(): number {
    return this.#written + this.#waitingBytes;
  }

  add(rows: string): void {
    if (rows === "") return;
    this.#waiting.push(rows);
    this.#waitingBytes += Buffer.byteLength(rows);
  }

  /** Makes durable what was added before. */
  async write(): Promise<void> {
    const bytes = Buffer.from(this.#waiting.splice(0).join(""));
    if (bytes.byteLength === 0) return;
    await this.#file.write(bytes, this.#written);
    await this.#file.datasync();
    this.#written += bytes.byteLength;
    this.#waitingBytes -= bytes.byteLength;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function openOrCreate(disk: Disk, path: string): Promise<DiskFile> {
  try {
    return await disk.open(path, "write");
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const file = await disk.create(path);
  await disk.syncFolder(dirname(path));
  return file;
}
