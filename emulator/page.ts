/** Text that is HTML already; whatever is put into it by `html` was escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Piece = Html | string | number | undefined | readonly Html[];

/** HTML with values in it: texts are escaped, since names come from requests; undefined is nothing. */
export const html = (texts: TemplateStringsArray, ...pieces: readonly Piece[]): Html =>
  new Html(texts.map((text, i) => `${text}${i < pieces.length ? written(pieces[i]) : ""}`).join(""));

const written = (piece: Piece): string => {
  if (piece === undefined) return "";
  if (piece instanceof Html) return piece.text;
  if (Array.isArray(piece)) return piece.map(written).join("\n");
  return String(piece).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
};

/** Fields that a form carries without showing them. */
export const hiddenFields = (fields: Readonly<Record<string, string>>): readonly Html[] =>
  Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);

/** A whole small page of the emulator. */
export const page = (title: string, content: Html): string =>
  html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>body{font:1rem/1.5 system-ui;max-width:34rem;margin:3rem auto;padding:0 1rem}</style></head>
<body><h1>${title}</h1>
${content}
<p><small>A page of the svc emulator.</small></p></body>
</html>
`.text;

/**
 * Headers of such a page: nothing is loaded, nobody may keep it, or frame it unless it is made for that. `formTargets`
 * are the origins that its forms may lead to, redirects included, beside its own.
 */
export const pageHeaders = (
  formTargets: readonly string[] = [],
  { framed = false } = {},
): Readonly<Record<string, string>> => ({
  "cache-control": "no-store",
  "content-security-policy": [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `form-action ${["'self'", ...formTargets].join(" ")}`,
    `frame-ancestors ${framed ? "*" : "'none'"}`,
  ].join("; "),
  "referrer-policy": "no-referrer",
});
