import { counted } from "../format.ts";
import { Copy } from "./copy.tsx";

/** A text as it was sent or came: never anything else than text. */
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
        <pre>{text}</pre>
      </section>
    </figure>
  );
}
