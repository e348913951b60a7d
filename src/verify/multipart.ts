/** What becomes of the parts of a form. */
export interface MultipartEdits {
  readonly value: (name: string, value: string) => string;
  readonly file: (bytes: Buffer) => Buffer;
  readonly fileName: (name: string) => string;
}

/** A part of a multipart body. */
interface Part {
  readonly head: string;
  readonly body: Buffer;
}

/** Replaces values, files and their names in a multipart body; all else is untouched. */
export function sanitizeMultipart(body: Buffer, boundary: string, edits: MultipartEdits): Buffer {
  const parts = partsOf(body, boundary);
  const pieces = parts.map(({ head, body: content }) => {
    const name = /\bname="([^"]*)"/i.exec(head)?.[1] ?? "";
    const isFile = /\bfilename\*?=/i.test(head);
    const shown = head.replace(
      /(filename\*?=)("?)([^";\r\n]*)/gi,
      (_, start: string, quote: string, file: string) => `${start}${quote}${edits.fileName(file)}`,
    );
    const text = content.toString("utf8");
    const isText = Buffer.from(text).equals(content);
    const made = isFile || !isText ? edits.file(content) : Buffer.from(edits.value(name, text));
    return Buffer.concat([Buffer.from(`--${boundary}\r\n${shown}\r\n\r\n`), made, Buffer.from("\r\n")]);
  });
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

function partsOf(body: Buffer, boundary: string): Part[] {
  const mark = Buffer.from(`--${boundary}`);
  const parts: Part[] = [];
  let at = body.indexOf(mark);
  while (at >= 0) {
    const next = body.indexOf(mark, at + mark.length);
    if (next < 0) break;
    const whole = body.subarray(at + mark.length + 2, next - 2);
    const split = whole.indexOf("\r\n\r\n");
    if (split >= 0) parts.push({ head: whole.subarray(0, split).toString("utf8"), body: whole.subarray(split + 4) });
    at = next;
  }
  return parts;
}
