import { Icon } from "./icon.tsx";
import type { Tone } from "./tone.ts";

const glyphs = new Map<Tone, string>([
  ["good", "check"],
  ["bad", "cross"],
  ["warn", "warn"],
  ["open", "wait"],
  ["none", "dash"],
]);

/** A state in a word, with a sign of its own: colour alone says nothing. */
export const State = ({ tone, children }: { readonly tone: Tone; readonly children: string }) => (
  <span class={`state ${tone}`}>
    <Icon name={glyphs.get(tone)!} />
    {children}
  </span>
);
