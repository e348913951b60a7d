import { counted } from "../format.ts";
import { Copy } from "./copy.tsx";
import { partsOf } from "./names.ts";

/** A text as it was sent or came: never anything else than text, and nothing of it hides. */
export function Bytes({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <figure class="bytes">
      <figcaption>
        <span>{label}</span>
        <span class="muted">{counted(new TextEncoder().encode(text).length, "byte")}</span>
        <Copy text={text} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard. */}
      <section tabIndex={0} aria-label={label}>
        <pre dir="ltr">
          {partsOf(text).map(({ words, isCode }, at) =>
            isCode ? <mark key={at}>{words}</mark> : <span key={at}>{words}</span>,
          )}
        </pre>
      </section>
    </figure>
  );
}
