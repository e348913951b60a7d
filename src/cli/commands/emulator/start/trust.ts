import { dirname } from "node:path";
import { isForeignState, writeOriginMarker } from "../../../../files/origin-marker.ts";
import type { Context } from "../../../command.ts";
import { createUntrustedStateError } from "../../../connection/state-folder.ts";
import { canPrompt } from "../../../context.ts";

/**
 * Lets a state be used that was found in this folder: one that was made here, one that `--trust-state` says it of, or one
 * that a person at a terminal says it of. From then on it counts as made here.
 */
export async function requireTrust(state: string, isTrusted: boolean, context: Context): Promise<void> {
  if (!(await isForeignState(state))) return;
  const { host, globals, output, signal } = context;
  if (!isTrusted) {
    const refused = createUntrustedStateError(state, "Use it with --trust-state, or choose another state with --file.");
    if (!canPrompt(host, globals)) throw refused;
    await output.warn(`${refused.message} Its state may send webhooks and contain tokens of its author.`);
    const { askYesNo } = await import("../../../terminal/ask.ts");
    if (!(await askYesNo("Use it?", host, signal))) throw refused;
  }
  await writeOriginMarker(dirname(state));
}
