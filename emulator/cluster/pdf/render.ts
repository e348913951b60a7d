import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { PDFDocument, type PDFFont } from "@cantoo/pdf-lib";
import { waitForNextTurn } from "../../../src/base/timing.ts";
import { TrueTypeFont } from "./true-type.ts";

export interface PdfSheet {
  readonly title: string;
  readonly subtitle: string;
  readonly rows: readonly (readonly [label: string, text: string])[];
  readonly at: number;
}

const pageLayout = { width: 595, height: 842, margin: 56 } as const;
const lineHeight = 16;

/** Maximum number of pages. The rest of a sheet is omitted, and the last line says so (DECISIONS.md, E11). */
const maxPdfPages = 100;
const omissionNotice = "The rest is omitted.";

/** Maximum lengths. A longer string does not fit on all pages, and a longer title does not fit on one. */
const maxTextLength = 1_000_000;
const maxTitleLength = 1_000;

/**
 * Generates a PDF with A4 pages. The same sheet gives the same bytes. It yields to the event loop after each page.
 * Characters that the font does not have are rendered as question marks.
 */
export async function renderPdf(sheet: PdfSheet) {
  const document = await PDFDocument.create();
  const [regularFont, boldFont] = await loadPdfFonts();
  // The fonts are loaded already, so the name selects one of them.
  document.registerFontkit({ create: (_, name) => (name === "bold" ? boldFont : regularFont) });
  const regular = await document.embedFont(emptyFile, { subset: true, postscriptName: "regular" });
  const bold = await document.embedFont(emptyFile, { subset: true, postscriptName: "bold" });
  const missingCharacters = new Set<string>();
  const toPrintable = (text: string) => replaceMissing(text, regularFont, missingCharacters);
  const title = sheet.title.slice(0, maxTitleLength);
  document.setTitle(toPrintable(title));
  document.setCreationDate(new Date(sheet.at));
  document.setModificationDate(new Date(sheet.at));
  document.setProducer("svc");
  document.setCreator("svc");

  let page = document.addPage([pageLayout.width, pageLayout.height]);
  let y = pageLayout.height - pageLayout.margin;
  const write = async (text: string, font: PDFFont, size: number): Promise<boolean> => {
    for (const line of wrapText(toPrintable(text.slice(0, maxTextLength)), font, size)) {
      if (y < pageLayout.margin) {
        if (document.getPageCount() === maxPdfPages) {
          page.drawText(omissionNotice, { x: pageLayout.margin, y, size: 11, font: regular });
          return false;
        }
        await waitForNextTurn();
        page = document.addPage([pageLayout.width, pageLayout.height]);
        y = pageLayout.height - pageLayout.margin;
      }
      page.drawText(line, { x: pageLayout.margin, y, size, font });
      y -= lineHeight * (size > 12 ? 1.6 : 1);
    }
    return true;
  };
  let hasRoom = (await write(title, bold, 18)) && (await write(sheet.subtitle, regular, 11));
  for (const [label, text] of sheet.rows) {
    if (!hasRoom) break;
    y -= lineHeight / 2;
    hasRoom = (await write(label, bold, 11)) && (await write(text, regular, 11));
  }
  return {
    bytes: Buffer.from(await document.save({ useObjectStreams: false })),
    missingCharacters: [...missingCharacters],
  };
}

const emptyFile = new Uint8Array();

const maxMissingCharacters = 20;

function replaceMissing(text: string, font: TrueTypeFont, missingCharacters: Set<string>): string {
  return text.normalize("NFC").replace(/[^\x20-\x7e\n]/gu, (character) => {
    if (font.has(character.codePointAt(0)!)) return character;
    if (character === "\t" || character === "\r") return " ";
    if (missingCharacters.size < maxMissingCharacters) missingCharacters.add(character);
    return "?";
  });
}

function* wrapText(text: string, font: PDFFont, size: number): Generator<string, void> {
  const maxWidth = pageLayout.width - 2 * pageLayout.margin;
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(" ").flatMap((each) => each.match(/.{1,60}/gu) ?? [""])) {
      const candidate = line === "" ? word : `${line} ${word}`;
      if (line !== "" && font.widthOfTextAtSize(candidate, size) > maxWidth) {
        yield line;
        line = word;
      } else line = candidate;
    }
    yield line;
  }
}
/** The fonts of documents: DejaVu Sans, whose license allows embedding. */
export const fontFiles = { regular: "DejaVuSans.ttf", bold: "DejaVuSans-Bold.ttf" } as const;

let loadedFonts: Promise<[regular: TrueTypeFont, bold: TrueTypeFont]> | undefined;

function loadPdfFonts() {
  loadedFonts ??= Promise.all([loadFont(fontFiles.regular), loadFont(fontFiles.bold)]);
  return loadedFonts;
}

const loadFont = async (name: string): Promise<TrueTypeFont> =>
  new TrueTypeFont(await readFontFile(name), name.replace(/\.ttf$/, ""));

/** The build writes reduced fonts next to the bundle. Without a build they are read from their package. */
const readFontFile = (name: string): Promise<Buffer> =>
  readFile(new URL(`./fonts/${name}`, import.meta.url)).catch(() =>
    readFile(createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${name}`)),
  );
