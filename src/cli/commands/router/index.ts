import type { Command } from "../../command.ts";
import { bulkCommands } from "./bulk.ts";

export const commands: readonly Command[] = bulkCommands;
