import { stylesheet, stylesheetHash } from "./stylesheet.ts";

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

/** Names and values, one below the other; those that are undefined are left out. */
export const listOf = (entries: Readonly<Record<string, Html | string | undefined>>): Html => {
  const rows = Object.entries(entries).flatMap(([name, value]) =>
    value === undefined ? [] : [html`<dt>${name}</dt><dd>${value}</dd>`],
  );
  return html`<dl>${rows}</dl>`;
};

/** What went wrong, to the person who filled in the form. */
export const alarm = (problem: string | undefined): Html | undefined =>
  problem === undefined ? undefined : html`<p role="alert">${problem}</p>`;

/** What a page may do beside showing itself, as directives of its Content-Security-Policy. */
type Policy = Readonly<Partial<Record<"form-action" | "frame-ancestors" | "frame-src" | "script-src", string | null>>>;

/** Nothing is loaded, forms end here, and nobody may put it into a frame. */
const strict: Policy & Record<string, string | null> = {
  "default-src": "'none'",
  "style-src": `'sha256-${stylesheetHash}'`,
  "base-uri": "'none'",
  "form-action": "'self'",
  "frame-ancestors": "'none'",
};

/**
 * For a page on which nothing can be clicked, or only what its own URL is the authority for: whoever can put that page
 * into a frame could as well ask for what the click does.
 */
export const framedByAnybody: Policy = { "frame-ancestors": null };

/** For a form that ends at somebody else's page: Chromium would hold each redirect of theirs against `form-action`. */
export const leadsAway: Policy = { "form-action": null };

/** A whole page, with the headers that belong to it. */
export interface HtmlPage {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A small page of the emulator. The one place that makes them; `policy` says how it differs from the strictest. */
export const page = (title: string, content: Html, policy: Policy = {}): HtmlPage => ({
  text: html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>
<style>${new Html(stylesheet)}</style></head>
<body><main><h1>${title}</h1>
${content}</main>
<footer><small>A page of the svc emulator.</small></footer></body>
</html>
`.text,
  headers: {
    "cache-control": "no-store",
    "content-security-policy": Object.entries({ ...strict, ...policy })
      .flatMap(([directive, sources]) => (sources === null ? [] : [`${directive} ${sources}`]))
      .join("; "),
    // Under no-referrer a browser sends its own forms with `Origin: null`, like those of a page that hides where it
    // comes from (Fetch, "append a request Origin header"). This tells other sites no more, and us the truth.
    "referrer-policy": "same-origin",
  },
});
