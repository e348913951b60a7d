import type { Command } from "../../command.ts";
import { signedCommand } from "./signed.ts";

export const commands: readonly Command[] = [
  signedCommand("iframe", "Open the embedded app of crm_a", ["--contract-id", "T-17"]),
  signedCommand("cards", "List the cards that crm_a shows beside a record", ["--query", "associatedObjectId=245"]),
];
