import { PDFDocument, type PDFFont, StandardFonts } from "@cantoo/pdf-lib";

/** What a contract's document says. */
export interface Sheet {
  readonly title: string;
  readonly subtitle: string;
  /** Label and text, one below the other. */
  readonly rows: readonly (readonly [label: string, text: string])[];
  /** Virtual milliseconds that the file gives as its date. */
  readonly at: number;
}

const page = { width: 595, height: 842, margin: 56 } as const;
const lineHeight = 16;

/** More than any contract has; the rest of what a sheet says is left out, and the last line tells so (DECISIONS.md, E11). */
export const mostPages = 100;
const leftOut = "The rest is left out.";

/** More than fit on all pages, of a text; of a title, more than fit on one. */
const longestText = 1_000_000;
const longestTitle = 1_000;

/**
 * Writes a PDF on A4 pages. The same sheet gives the same bytes. Others have their turn after each page, and no sheet
 * takes more than a moment, however long its texts are.
 */
export async function renderPdf(sheet: Sheet): Promise<Buffer> {
  const document = await PDFDocument.create();
  const regular = await document.embedFont(StandardFonts.Helvetica);
  const bold = await document.embedFont(StandardFonts.HelveticaBold);
  const title = sheet.title.slice(0, longestTitle);
  document.setTitle(printable(title));
  document.setCreationDate(new Date(sheet.at));
  document.setModificationDate(new Date(sheet.at));
  document.setProducer("svc");
  document.setCreator("svc");

  let current = document.addPage([page.width, page.height]);
  let y = page.height - page.margin;
  /** False: all pages are full. */
  const write = async (text: string, font: PDFFont, size: number): Promise<boolean> => {
    for (const line of wrapped(printable(text.slice(0, longestText)), font, size)) {
      if (y < page.margin) {
        if (document.getPageCount() === mostPages) {
          current.drawText(leftOut, { x: page.margin, y, size: 11, font: regular });
          return false;
        }
        await new Promise((turn) => setImmediate(turn));
        current = document.addPage([page.width, page.height]);
        y = page.height - page.margin;
      }
      current.drawText(line, { x: page.margin, y, size, font });
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
  return Buffer.from(await document.save({ useObjectStreams: false }));
}

/** The standard fonts know Latin-1 alone; anything else would throw. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e\xa1-\xff\n]/g, "?");

function* wrapped(text: string, font: PDFFont, size: number): Generator<string, void> {
  const widest = page.width - 2 * page.margin;
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(" ").flatMap((each) => each.match(/.{1,60}/g) ?? [""])) {
      const longer = line === "" ? word : `${line} ${word}`;
      if (line !== "" && font.widthOfTextAtSize(longer, size) > widest) {
        yield line;
        line = word;
      } else line = longer;
    }
    yield line;
  }
}
