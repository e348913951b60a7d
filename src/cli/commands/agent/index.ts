import type { Command } from "../../command.ts";
import { agentSetup } from "./setup.ts";

export const commands: readonly Command[] = [agentSetup];
