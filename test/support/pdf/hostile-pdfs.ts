import { constants, deflateRawSync, deflateSync } from "node:zlib";

/** The bytes of one object. Strings are Latin-1. */
type Body = string | Buffer;

/** Creates a PDF with a valid cross-reference table from its objects, numbered from 1. The first is the catalog. */
export function createPdfOf(objects: readonly Body[]): Buffer {
  const parts: Buffer[] = [Buffer.from("%PDF-1.7\n")];
  const offsets: number[] = [];
  let size = parts[0]!.length;
  const add = (bytes: Buffer) => {
    parts.push(bytes);
    size += bytes.length;
  };
  for (const [index, body] of objects.entries()) {
    offsets.push(size);
    add(Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), Buffer.from(body as string, "latin1"), endOfObject]));
  }
  const entries = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const count = objects.length + 1;
  const trailer = `trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${size}\n%%EOF\n`;
  add(Buffer.from(`xref\n0 ${count}\n0000000000 65535 f \n${entries}${trailer}`));
  return Buffer.concat(parts);
}

const endOfObject = Buffer.from("\nendobj\n");

/** Creates a stream object. */
export const createStreamObject = (dictionary: string, bytes: Body): Buffer => {
  const data = Buffer.from(bytes as string, "latin1");
  const head = `<< ${dictionary} /Length ${data.length} >>\nstream\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), data, Buffer.from("\nendstream")]);
};

const catalog = "<< /Type /Catalog /Pages 2 0 R >>";
const onePage = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>";
const font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>";

/** Creates one page with these contents. Object 4 is the contents, and further objects begin at 5. */
export const createDrawingPdf = (contents: Buffer, resources = "", extraBodies: readonly Body[] = []): Buffer =>
  createPdfOf([
    catalog,
    onePage,
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 1000000000 100] /Contents 4 0 R /Resources << ${resources} >> >>`,
    contents,
    ...extraBodies,
  ]);

const createForm = (resources: string, operators: string) =>
  createStreamObject(`/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << ${resources} >>`, operators);

/** Creates a form that draws itself. Such a file of 573 bytes once ended the process. */
export const createSelfDrawingPdf = (): Buffer =>
  createDrawingPdf(createStreamObject("", "/F Do"), "/XObject << /F 5 0 R >>", [
    createForm("/XObject << /F 5 0 R >>", "/F Do"),
  ]);

/** Creates two forms that draw each other. */
export const createMutuallyDrawingPdf = (): Buffer =>
  createDrawingPdf(createStreamObject("", "/F Do"), "/XObject << /F 5 0 R >>", [
    createForm("/XObject << /G 6 0 R >>", "/G Do /G Do"),
    createForm("/XObject << /F 5 0 R >>", "/F Do /F Do"),
  ]);

/** Creates forms without a cycle, each of which draws the next twice, for 2^`depth` drawings. */
export const createDoublingPdf = (depth: number): Buffer =>
  createDrawingPdf(createStreamObject("", "/F Do"), "/XObject << /F 5 0 R >>", [
    ...Array.from({ length: depth }, (_, at) => createForm(`/XObject << /F ${at + 6} 0 R >>`, "/F Do /F Do")),
    createForm(`/Font << /F ${depth + 6} 0 R >>`, "BT /F 9 Tf (a) Tj ET"),
    font,
  ]);

/**
 * Creates a page whose contents inflate to this many blanks. They are compressed twice, so a gigabyte takes a few
 * kilobytes.
 */
export function createInflatingPdf(bytes: number): Buffer {
  const twice = deflateSync(compressBlanks(bytes), { level: 9 });
  return createDrawingPdf(createStreamObject("/Filter [/FlateDecode /FlateDecode]", twice));
}

/**
 * Returns this many blanks in zlib format, where the count is a power of two from 2^20. One compressed megabyte is
 * repeated.
 */
function compressBlanks(count: number): Buffer {
  const megabyte = 2 ** 20;
  const blanks = Buffer.alloc(megabyte, " ");
  const packed = deflateRawSync(blanks, { level: 9, finishFlush: constants.Z_FULL_FLUSH });
  const head = Buffer.from([0x78, 0xda]);
  const end = deflateRawSync("");
  const sum = Buffer.alloc(4);
  // Adler-32 consists of the sum of all bytes and the sum of all these sums.
  const [n, base] = [BigInt(count), 65_521n];
  sum.writeUInt16BE(Number((n + 32n * ((n * (n + 1n)) / 2n)) % base));
  sum.writeUInt16BE(Number((1n + 32n * n) % base), 2);
  return Buffer.concat([head, ...Array.from({ length: count / megabyte }, () => packed), end, sum]);
}

/** Creates a page with this many operators. */
export const createOperatorsPdf = (count: number): Buffer =>
  createDrawingPdf(
    createStreamObject("/Filter /FlateDecode", deflateSync(Buffer.from(`BT /F 9 Tf ${"(a) Tj ".repeat(count)} ET`))),
    "/Font << /F 5 0 R >>",
    [font],
  );

/** Creates a page tree of this depth with one page. */
export const createDeepPageTreePdf = (depth: number): Buffer =>
  createPdfOf([
    catalog,
    ...Array.from({ length: depth }, (_, at) => `<< /Type /Pages /Kids [${at + 3} 0 R] /Count 1 >>`),
    `<< /Type /Page /Parent ${depth + 1} 0 R /MediaBox [0 0 9 9] >>`,
  ]);

/** Creates a page tree that is its own child. */
export const createCircularPageTreePdf = (): Buffer =>
  createPdfOf([catalog, "<< /Type /Pages /Kids [2 0 R] /Count 1 >>"]);

/** Creates a page whose content is an array of this depth. */
export const createDeepArrayPdf = (depth: number): Buffer =>
  createPdfOf([catalog, onePage, "[".repeat(depth) + "]".repeat(depth)]);

/** Creates this many unreferenced objects. */
export const createManyObjectsPdf = (count: number): Buffer =>
  createPdfOf([
    catalog,
    onePage,
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>",
    ...Array.from({ length: count }, () => "null"),
  ]);

/** Creates a cross-reference stream that claims this many entries of zero bytes. */
export function createFalseEntryCountPdf(count: number): Buffer {
  const head = Buffer.from("%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 1 0 R >>\nendobj\n");
  const table = createStreamObject(`/Type /XRef /W [0 0 0] /Index [0 ${count}] /Size ${count} /Root 1 0 R`, "");
  const tail = Buffer.from(`\nendobj\nstartxref\n${head.length}\n%%EOF\n`);
  return Buffer.concat([head, Buffer.from("2 0 obj\n"), table, tail]);
}

/** Creates a page with text of this length. Each character maps to 120, which takes a hundredth of the time. */
export const createLongTextPdf = (length: number): Buffer =>
  createDrawingPdf(
    createStreamObject(
      "/Filter /FlateDecode",
      deflateSync(Buffer.from(`BT /F 9 Tf (${"a".repeat(length / 120)}) Tj ET`)),
    ),
    "/Font << /F 5 0 R >>",
    [
      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
      createStreamObject("", createRepeatingCharacterMap("a", 120)),
    ],
  );

/** Returns the mapping of one character code to this many characters (PDF 1.7, 9.10.3). */
const createRepeatingCharacterMap = (letter: string, count: number): string =>
  [
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Many def /CMapType 2 def",
    "1 begincodespacerange <00> <FF> endcodespacerange",
    `1 beginbfchar <${Buffer.from(letter).toString("hex")}> <${"0061".repeat(count)}> endbfchar`,
    "endcmap CMapName currentdict /CMap defineresource pop end end",
  ].join("\n");
