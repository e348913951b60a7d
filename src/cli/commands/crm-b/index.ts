import type { Command } from "../../command.ts";
import { crmBOpen } from "./open.ts";

export const commands: readonly Command[] = [crmBOpen];
