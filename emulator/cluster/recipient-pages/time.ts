import { type Html, html } from "../../http/page.ts";

/** To the minute, and in UTC, as the emulator's clock is set. */
export function formatTime(at: number): Html {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace("T", " at ")} UTC</time>`;
}
