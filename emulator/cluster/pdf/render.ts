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

/** Writes a PDF, on as many A4 pages as it takes. The same sheet gives the same bytes. */
export async function renderPdf(sheet: Sheet): Promise<Buffer> {
  const document = await PDFDocument.create();
  const regular = await document.embedFont(StandardFonts.Helvetica);
  const bold = await document.embedFont(StandardFonts.HelveticaBold);
  document.setTitle(printable(sheet.title));
  document.setCreationDate(new Date(sheet.at));
  document.setModificationDate(new Date(sheet.at));
  document.setProducer("svc");
  document.setCreator("svc");

  let current = document.addPage([page.width, page.height]);
  let y = page.height - page.margin;
  const write = (text: string, font: PDFFont, size: number) => {
    for (const line of wrapped(printable(text), font, size)) {
      if (y < page.margin) {
        current = document.addPage([page.width, page.height]);
        y = page.height - page.margin;
      }
      current.drawText(line, { x: page.margin, y, size, font });
      y -= lineHeight * (size > 12 ? 1.6 : 1);
    }
  };
  write(sheet.title, bold, 18);
  write(sheet.subtitle, regular, 11);
  for (const [label, text] of sheet.rows) {
    y -= lineHeight / 2;
    write(label, bold, 11);
    write(text, regular, 11);
  }
  return Buffer.from(await document.save({ useObjectStreams: false }));
}

/** The standard fonts know Latin-1 alone; anything else would throw. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e\xa1-\xff\n]/g, "?");

function wrapped(text: string, font: PDFFont, size: number): string[] {
  const widest = page.width - 2 * page.margin;
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(" ").flatMap((each) => each.match(/.{1,60}/g) ?? [""])) {
      const longer = line === "" ? word : `${line} ${word}`;
      if (line !== "" && font.widthOfTextAtSize(longer, size) > widest) {
        lines.push(line);
        line = word;
      } else line = longer;
    }
    lines.push(line);
  }
  return lines;
}
