/** Shorter than this no document with one page can be. */
const smallestBytes = 67;
const headerWithin = 1024;
const endWithin = 1024;

/**
 * The cheap check of a PDF, without a parser: header, end mark, a cross-reference that is where the file says, and a
 * trailer that names the root (DECISIONS.md, P18). Says what is wrong; undefined: nothing.
 */
export function structuralProblem(file: Buffer): string | undefined {
  if (file.length < smallestBytes) return "it is too short";
  const header = file
    .subarray(0, headerWithin)
    .toString("latin1")
    .search(/%PDF-\d\.\d/);
  if (header < 0) return "it has no %PDF header";

  const tail = trimmedEnd(file).subarray(-endWithin).toString("latin1");
  const end = tail.lastIndexOf("%%EOF");
  if (end < 0) return "it has no %%EOF mark";
  const startxref = /startxref\s+(\d+)\s*$/.exec(tail.slice(0, end))?.[1];
  if (startxref === undefined) return "it has no startxref";

  // With junk before the header the offsets of some writers count from the header.
  const trailers = [Number(startxref), Number(startxref) + header].map((offset) => trailerAt(file, offset));
  const trailer = trailers.find((each) => each !== undefined);
  if (trailer === undefined) return "startxref does not point at a cross-reference";
  return /\/Root\s+\d+\s+\d+\s+R/.test(trailer) ? undefined : "its trailer has no /Root";
}

/** The trailer dictionary of the cross-reference table or stream at an offset; undefined when there is none. */
function trailerAt(file: Buffer, offset: number): string | undefined {
  if (offset >= file.length) return undefined;
  const start = file.subarray(offset, offset + 64).toString("latin1");
  if (/^\s*xref\b/.test(start)) {
    const at = file.indexOf("trailer", offset, "latin1");
    return at < 0 ? "" : upTo(file, at, "startxref");
  }
  if (!/^\s*\d+\s+\d+\s+obj\b/.test(start)) return undefined;
  const dictionary = upTo(file, offset, "stream");
  return /\/Type\s*\/XRef\b/.test(dictionary) ? dictionary : undefined;
}

function upTo(file: Buffer, from: number, mark: string): string {
  const end = file.indexOf(mark, from, "latin1");
  return file.subarray(from, end < 0 ? undefined : end).toString("latin1");
}

function trimmedEnd(file: Buffer): Buffer {
  let end = file.length;
  while (end > 0 && [0x00, 0x09, 0x0a, 0x0c, 0x0d, 0x20].includes(file[end - 1]!)) end -= 1;
  return file.subarray(0, end);
}
