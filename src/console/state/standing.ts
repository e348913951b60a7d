import { signal } from "@preact/signals";
import { call } from "../api/call.ts";
import type { Answer } from "../api/operations.ts";

/** What the process that answers this page is to those that share its store; undefined until it was read. */
export const standing = signal<Answer<"emulator.ready"> | undefined>(undefined);

export const readStanding = async (): Promise<void> => {
  standing.value = await call("emulator.ready");
};
