import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { decodePDFRawStream, PDFDict, PDFDocument, PDFName, PDFRawStream } from "@cantoo/pdf-lib";
import { checkPdf, pdfReaderBusy } from "../../../../emulator/cluster/pdf/reader.ts";
import { renderPdf } from "../../../../emulator/cluster/pdf/render.ts";
import vectors from "../../../../fixtures/vectors/signatures-and-protocols.json" with { type: "json" };
import { fail } from "../../../../src/api/failures.ts";
import { createPdf } from "../../../support/contracts.ts";
import { startPdfReader } from "../../../support/pdf/pdf-reader.ts";

const pdfs = startPdfReader();

const latin1 = (file: Buffer): string => file.toString("latin1");
const encodeLatin1 = (text: string): Buffer => Buffer.from(text, "latin1");

const noStructure = "it cannot be parsed (Invalid PDF structure)";
const noRoot = "it cannot be parsed (Invalid Root reference)";

/** Returns the reason why the reader rejects a file. */
async function findPdfProblem(file: Buffer): Promise<string | undefined> {
  const reading = await pdfs.read("check", file);
  return reading === pdfReaderBusy ? "busy" : reading.problem;
}

describe("PDF validation (DECISIONS.md, P18)", () => {
  const accepted: Readonly<Record<string, () => Promise<Buffer>>> = {
    "the minimal file of the vectors": async () => Buffer.from(vectors.pdf.minimal_valid_base64, "base64"),
    "a classic file": () => createPdf(1, { useObjectStreams: false }),
    "a file with object streams": () => createPdf(3, { useObjectStreams: true }),
    "200 pages": () => createPdf(200),
    "junk before the header": async () =>
      Buffer.concat([encodeLatin1("junk\n"), await createPdf(1, { useObjectStreams: false })]),
    "blanks and NULs after the end": async () => Buffer.concat([await createPdf(), encodeLatin1("\n \0\0\n")]),
    "an owner password alone": async () => createEncryptedPdf({ ownerPassword: "owner" }),
  };
  for (const [label, make] of Object.entries(accepted)) {
    it(`accepts ${label}`, async () => {
      assert.equal(await findPdfProblem(await make()), undefined);
    });
  }

  it("accepts every file of fixtures/pdfs that common PDF tools open", async () => {
    const folder = new URL("../../../../fixtures/pdfs/", import.meta.url);
    const names = readdirSync(folder).filter((name) => name.endsWith(".pdf"));
    assert.ok(names.length > 60);
    const problems: string[] = [];
    for (const name of names) {
      const problem = await findPdfProblem(readFileSync(new URL(name, folder)));
      if (problem !== undefined) problems.push(`${name}: ${problem}`);
    }
    assert.deepEqual(problems, []);
  });

  const unreadableFiles: readonly (readonly [string, () => Promise<Buffer>, string])[] = [
    [
      "an empty file",
      async () => Buffer.alloc(0),
      "it cannot be parsed (The PDF file is empty, i.e. its size is zero bytes)",
    ],
    ["a file truncated at 50 %", async () => truncate(await createPdf(20), 0.5), noStructure],
    ["a file truncated at 90 %", async () => truncate(await createPdf(20), 0.9), noStructure],
    [
      "a trailer without /Root",
      async () => encodeLatin1(latin1(await createPdf(1, { useObjectStreams: false })).replaceAll("/Root", "/Rxxt")),
      noRoot,
    ],
    ["a missing root object", async () => createRootlessPdf(), noRoot],
    ["no pages", async () => createPagelessPdf(), "it has no pages"],
    ["a required user password", () => createEncryptedPdf({ userPassword: "secret" }), "it requires a password"],
    ["a web page", async () => encodeLatin1("<html><body>404 Not Found</body></html>"), noStructure],
    ["random bytes", async () => Buffer.alloc(5_000, "noise"), noStructure],
  ];
  for (const [label, make, problem] of unreadableFiles) {
    it(`rejects ${label}`, async () => {
      assert.equal(await findPdfProblem(await make()), problem);
    });
  }

  for (const { name, base64 } of vectors.pdf.invalid) {
    it(`rejects the vector "${name}"`, async () => {
      assert.match((await checkPdf(base64, pdfs, fail)).problem ?? "", /^Input should be a valid PDF: /);
    });
  }

  for (const [label, end] of [
    ["LF, as base64 of GNU does", "\n"],
    ["CRLF, as MIME does", "\r\n"],
  ] as const) {
    it(`accepts base64 with lines that end in ${label}`, async () => {
      const wrapped = vectors.pdf.minimal_valid_base64.replace(/.{1,76}/g, (line) => `${line}${end}`);
      const file = Buffer.from(vectors.pdf.minimal_valid_base64, "base64");
      assert.deepEqual(await checkPdf(wrapped, pdfs, fail), { file });
    });
  }

  for (const [label, wrong] of [
    ["a data URL", (text: string) => `data:application/pdf;base64,${text}`],
    ["blanks", (text: string) => text.replace(/(.{76})/g, "$1 ")],
    ["no padding", (text: string) => text.replace(/=*$/, "")],
    ["the URL-safe alphabet", (text: string) => `${text.slice(0, -4)}-_==`],
  ] as const) {
    it(`rejects base64 with ${label}`, async () => {
      // 316 bytes require two padding characters.
      const { problem } = await checkPdf(wrong(vectors.pdf.minimal_valid_base64), pdfs, fail);
      assert.equal(problem, "Input should be valid base64");
    });
  }
});

it("concurrent files get their own results", async () => {
  const page = Buffer.from("<html></html>");
  const first = findPdfProblem(await createPdf());
  const second = findPdfProblem(page);
  const verdicts = [await first, ...(await Promise.all([findPdfProblem(await createPdf()), second]))];
  assert.deepEqual(verdicts, [undefined, undefined, noStructure]);
});

describe("generated PDF of a template contract", () => {
  const sheet = {
    title: "NDA with Acmé 漢",
    subtitle: "Mutual NDA - T-1",
    rows: [["Purpose", `${"very long words ".repeat(600)}`]] as const,
    at: Date.parse("2031-01-02T03:04:05Z"),
  };

  it("is valid at any length and identical for the same contract", async () => {
    const { bytes: file, missingCharacters } = await renderPdf(sheet);
    assert.deepEqual(missingCharacters, ["漢"]);
    assert.equal(await findPdfProblem(file), undefined);
    const read = await PDFDocument.load(file);
    assert.ok(read.getPageCount() > 1);
    assert.equal(read.getCreationDate()?.toISOString(), "2031-01-02T03:04:05.000Z");
    assert.deepEqual((await renderPdf(sheet)).bytes, file);
  });

  for (const [label, text] of [
    ["Polish, German and punctuation", "Łódź – „Dom“ 5 €, 1 ₹, № 7, ½ × 3 ≤ 4"],
    ["Romanian, Turkish and Vietnamese", "Țară și țuică, İstanbul, Nguyễn Thị Hồng"],
    ["Greek", "Ἀθῆναι, Σύμβαση εμπιστευτικότητας"],
    ["Cyrillic", "Договір, Ѓорѓи, Қазақстан, Ђорђе"],
  ] as const) {
    it(`preserves ${label}`, async () => {
      const { bytes, missingCharacters } = await renderPdf({ ...sheet, title: text, rows: [["Purpose", text]] });
      assert.deepEqual(missingCharacters, []);
      const { lines } = (await pdfs.read("text", bytes)) as { lines: readonly string[] };
      assert.deepEqual([lines[0], lines.at(-1)], [text, text]);
    });
  }

  it("composes decomposed characters and shows a question mark for missing glyphs", async () => {
    const rows = [["Purpose", "Cafe\u0301 e\u0323\u0302 漢字 🖋\t1"]] as const;
    const { bytes, missingCharacters } = await renderPdf({ ...sheet, title: "NDA", rows });
    assert.deepEqual(missingCharacters, ["漢", "字", "🖋"]);
    const { lines } = (await pdfs.read("text", bytes)) as { lines: readonly string[] };
    assert.equal(lines.at(-1), "Café ệ ?? ? 1");
  });

  it("embeds only the glyphs in use", async () => {
    const { bytes } = await renderPdf({ ...sheet, rows: [["Purpose", "Joint project"]] });
    assert.ok(bytes.length < 30_000, `${bytes.length} bytes`);
  });

  it("embeds fonts with the directory and checksums that OpenType requires", async () => {
    const { bytes } = await renderPdf({ ...sheet, rows: [["Purpose", "Żółw"]] });
    const fonts = listEmbeddedFonts(await PDFDocument.load(bytes));
    assert.equal(fonts.length, 2);
    for (const font of fonts) {
      const tables = Array.from({ length: font.readUInt16BE(4) }, (_, index) => readTable(font, 12 + 16 * index));
      const { tags, sums } = { tags: tables.map(({ tag }) => tag), sums: tables.map(({ sum }) => sum) };
      assert.deepEqual(tags, ["cvt ", "fpgm", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "prep"]);
      // Nine tables: the largest power of two is 8, so a search covers 8 * 16 bytes and leaves one table.
      const search = [6, 8, 10].map((at) => font.readUInt16BE(at));
      assert.deepEqual([font.readUInt32BE(0), ...search], [0x00010000, 8 * 16, 3, 16]);
      // The checksum of "head" counts its own adjustment of the file's checksum as 0.
      const head = tables[3]!.bytes;
      const adjustment = head.readUInt32BE(8);
      head.writeUInt32BE(0, 8);
      assert.deepEqual(
        sums,
        tables.map((table) => sumWords(table.bytes)),
      );
      assert.equal(adjustment, (0xb1b0afba - sumWords(font)) >>> 0);
    }
  });

  for (const [label, huge] of [
    ["a text of 5 million lines", { ...sheet, rows: [["Purpose", "\n".repeat(5_000_000)]] as const }],
    [
      "a million signatories",
      { ...sheet, rows: Array.from({ length: 1_000_000 }, () => ["Signature", "Jo"] as const) },
    ],
    [
      "a title of 5 million words",
      { ...sheet, title: "word ".repeat(5_000_000), rows: [["a", "b ".repeat(9e6)]] as const },
    ],
  ] as const) {
    it(`ends after 100 pages and yields after each page: ${label}`, async () => {
      let turns = 0;
      let isDone = false;
      const count = () => {
        turns += 1;
        if (!isDone) setImmediate(count);
      };
      setImmediate(count);
      const { bytes: file } = await renderPdf(huge);
      isDone = true;
      assert.equal((await PDFDocument.load(file)).getPageCount(), 100);
      assert.ok(turns >= 99, `${turns} turns`);
      const { lines } = (await pdfs.read("text", file)) as { lines: readonly string[] };
      assert.equal(lines.at(-1), "The rest is omitted.");
    });
  }
});

const listEmbeddedFonts = ({ context }: PDFDocument): Buffer[] =>
  context
    .enumerateIndirectObjects()
    .flatMap(([, object]) => (object instanceof PDFDict ? [object.get(PDFName.of("FontFile2"))] : []))
    .map((file) => file && context.lookup(file))
    .filter((file) => file instanceof PDFRawStream)
    .map((file) => Buffer.from(decodePDFRawStream(file).decode()));

const readTable = (font: Buffer, index: number) => {
  const [sum, start, length] = [4, 8, 12].map((field) => font.readUInt32BE(index + field)) as [number, number, number];
  return { tag: font.toString("latin1", index, index + 4), sum, bytes: font.subarray(start, start + length) };
};

const sumWords = (bytes: Buffer): number => {
  const padded = Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
  let sum = 0;
  for (let at = 0; at < padded.length; at += 4) sum = (sum + padded.readUInt32BE(at)) >>> 0;
  return sum;
};

const truncate = (file: Buffer, share: number): Buffer => file.subarray(0, Math.floor(file.length * share));

async function createEncryptedPdf(passwords: { userPassword?: string; ownerPassword?: string }): Promise<Buffer> {
  const document = await PDFDocument.create();
  document.addPage();
  document.encrypt({ userPassword: "", ...passwords });
  return Buffer.from(await document.save({ useObjectStreams: false }));
}

async function createRootlessPdf(): Promise<Buffer> {
  const text = latin1(await createPdf(1, { useObjectStreams: false }));
  return encodeLatin1(
    text.replace(/\/Root \d+/, (found) => found.replace(/\d+/, (digits) => "9".repeat(digits.length))),
  );
}

async function createPagelessPdf(): Promise<Buffer> {
  const document = await PDFDocument.create();
  const pages = document.catalog.Pages();
  pages.set(PDFName.of("Count"), document.context.obj(0));
  return Buffer.from(await document.save({ addDefaultPage: false, useObjectStreams: false }));
}
