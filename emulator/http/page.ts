import { createHash } from "node:crypto";

/** Inline style of every page. It follows the system's light or dark mode and supports widths from 320 pixels. */
const stylesheet = `
:root {
  color-scheme: light dark;
  --back: #fff; --text: #1c2128; --quiet: #57606a; --line: #6e7781; --rule: #d0d7de;
  --strong: #0b57c2; --on-strong: #fff; --alarm: #b3261e; --good: #17683f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14181d; --text: #e3e8ee; --quiet: #9aa6b2; --line: #7d8894; --rule: #343d47;
    --strong: #8ab8ff; --on-strong: #0b1a2e; --alarm: #ff9d94; --good: #62d19a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
}
main, footer { max-width: 36rem; margin: 0 auto; padding: 1rem; }
main:has(iframe) { max-width: none; }
footer { color: var(--quiet); }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1rem 0; }
a { color: var(--strong); }
label { display: block; font-weight: 600; }
h2 { font-size: 1.15rem; line-height: 1.3; margin: 1.75rem 0 .5rem; }
h2 + ul, h2 + p { margin-top: 0; }
form + form, details + form { margin-top: 1.75rem; }
input, select, textarea, button { font: inherit; min-height: 2.75rem; padding: .4rem .75rem; border-radius: .375rem; }
input, select, textarea {
  display: block; width: 100%; margin-top: .25rem; font-weight: 400;
  background: var(--back); color: var(--text); border: 1px solid var(--line);
}
button { background: var(--strong); color: var(--on-strong); border: 1px solid var(--strong); font-weight: 600; }
button + button { margin-left: .5rem; }
button.danger { background: var(--back); color: var(--alarm); border-color: var(--alarm); }
button.other { background: var(--back); color: var(--strong); }
.user-code { display: block; font: 700 1.75rem/2 ui-monospace, monospace; white-space: nowrap; }
[role="alert"], [role="status"] { border-left: .25rem solid; padding-left: .75rem; font-weight: 600; }
[role="alert"] { color: var(--alarm); }
[role="status"] { color: var(--good); }
details { margin: 1rem 0; }
summary { padding: .5rem 0; color: var(--alarm); font-weight: 600; cursor: pointer; }
details[open] { border-left: .25rem solid var(--rule); padding-left: .75rem; }
ul { list-style: none; padding: 0; }
li a { display: block; }
li { padding: .5rem 0; }
li + li { border-top: 1px solid var(--rule); }
li small { color: var(--quiet); }
.as-typed { white-space: pre-wrap; }
textarea { resize: vertical; }
dt { color: var(--quiet); }
dd { margin: 0 0 .5rem; }
@media (min-width: 36rem) {
  dl { display: grid; grid-template-columns: fit-content(40%) 1fr; column-gap: 1.5rem; }
}
iframe { display: block; width: 100%; height: 80vh; border: 1px solid var(--line); }
`;

/** Hash of the style in the policy of a page, so that no other style is accepted. */
export const stylesheetHash = createHash("sha256").update(stylesheet).digest("base64");

/** HTML text. The tag `html` escapes all values. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlPiece = Html | string | number | undefined | readonly Html[];

/** Creates HTML from a template. Strings are escaped, because names come from requests. Undefined is omitted. */
export const html = (strings: TemplateStringsArray, ...values: readonly HtmlPiece[]): Html =>
  new Html(strings.map((text, i) => `${text}${i < values.length ? renderPiece(values[i]) : ""}`).join(""));

const renderPiece = (piece: HtmlPiece): string => {
  if (piece === undefined) return "";
  if (piece instanceof Html) return piece.text;
  if (Array.isArray(piece)) return piece.map(renderPiece).join("\n");
  return String(piece).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
};

export const renderHiddenFields = (fields: Readonly<Record<string, string>>): readonly Html[] =>
  Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);

/** Renders a list of names and values without undefined values. */
export const renderDefinitionList = (entries: Readonly<Record<string, Html | string | undefined>>): Html => {
  const rows = Object.entries(entries).flatMap(([name, value]) =>
    value === undefined ? [] : [html`<dt>${name}</dt><dd>${value}</dd>`],
  );
  return html`<dl>${rows}</dl>`;
};

export const renderErrorBanner = (problem: string | undefined): Html | undefined =>
  problem === undefined ? undefined : html`<p role="alert">${problem}</p>`;

/** Directives of the Content-Security-Policy of a page. */
type PagePolicy = Readonly<
  Partial<Record<"form-action" | "frame-ancestors" | "frame-src" | "script-src", string | null>>
>;

/** By default, a page loads nothing, sends forms to its own origin, and cannot be embedded in a frame. */
const strictPolicy: PagePolicy & Record<string, string | null> = {
  "default-src": "'none'",
  "style-src": `'sha256-${stylesheetHash}'`,
  "base-uri": "'none'",
  "form-action": "'self'",
  "frame-ancestors": "'none'",
};

/** Formats a Content-Security-Policy. A directive that is null is omitted. */
export const formatPolicy = (policy: Readonly<Record<string, string | null>>): string =>
  Object.entries(policy)
    .flatMap(([directive, sources]) => (sources === null ? [] : [`${directive} ${sources}`]))
    .join("; ");

/** Policy for a page without controls or whose URL authorizes all its actions, so that embedding adds no risk. */
export const allowFraming: PagePolicy = { "frame-ancestors": null };

/** For a form that ends at another site, because Chromium checks redirects against `form-action`. */
export const allowExternalFormAction: PagePolicy = { "form-action": null };

export interface HtmlPage {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Creates a small page of the emulator. `policy` overrides directives of the strictest policy. */
export const createPage = (title: string, content: Html, policy: PagePolicy = {}): HtmlPage => ({
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
    "content-security-policy": formatPolicy({ ...strictPolicy, ...policy }),
    // With no-referrer, a browser sends the emulator's own forms with `Origin: null`, as for a page that hides its
    // origin (Fetch, "append a request Origin header"). This policy sends the true origin and reveals no more to other
    // sites.
    "referrer-policy": "same-origin",
  },
});
