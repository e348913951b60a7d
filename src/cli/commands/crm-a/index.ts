import type { Command } from "../../command.ts";
import { defineSignedCommand } from "./signed-command.ts";

export const commands: readonly Command[] = [
  defineSignedCommand("iframe", "Open the embedded app of crm_a", ["--contract-id", "T-17"]),
  defineSignedCommand("cards", "List the cards that crm_a shows next to a record", [
    "--query",
    "associatedObjectId=245",
  ]),
];
