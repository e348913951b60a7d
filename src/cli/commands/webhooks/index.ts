import type { Command } from "../../command.ts";
import { webhooksVerify } from "./verify.ts";

export const commands: readonly Command[] = [webhooksVerify];
