import { createHash } from "node:crypto";
import { framedByAnybody, Html, html, page } from "../../http/page.ts";
import type { Passthrough } from "../../http/reply.ts";
import { pageAnswer } from "../answer.ts";

interface AppPage {
  readonly title: string;
  readonly content: Html;
  /** What the front end is told, as JSON within the page. */
  readonly context?: object | undefined;
  /** The page that a front end is loaded from. */
  readonly frontEnd?: URL | undefined;
}

/** Hands the context to the front end, and to nobody else, once it is there. */
const tell = `const front = document.querySelector("iframe");
front.addEventListener("load", () => {
  const context = JSON.parse(document.getElementById("context").textContent);
  front.contentWindow.postMessage(context, new URL(front.src).origin);
});`;
const tellHash = createHash("sha256").update(tell).digest("base64");

/** A page that a CRM shows in a frame of its own: anybody may frame it, and nothing but the front end is loaded. */
export function appPage({ title, content, context, frontEnd }: AppPage): Passthrough {
  const whole = page(
    title,
    html`${content}
${context && contextElement(context)}
${frontEnd && html`<iframe title="Front end" src="${frontEnd.href}"></iframe>`}
${frontEnd && context && new Html(`<script>${tell}</script>`)}`,
    {
      ...framedByAnybody,
      ...(frontEnd && { "frame-src": frontEnd.origin, "script-src": `'sha256-${tellHash}'` }),
    },
  );
  return pageAnswer(200, whole);
}

/** Inside a script nothing is unescaped, so that `</script>` must not be written at all. */
const contextElement = (context: object): Html =>
  new Html(
    `<script type="application/json" id="context">${JSON.stringify(context).replaceAll("<", "\\u003c")}</script>`,
  );
