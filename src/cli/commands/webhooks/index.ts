import type { Command } from "../../command.ts";
import { webhooksExplain } from "./explain.ts";
import { webhooksSign } from "./sign.ts";
import { webhooksVerify } from "./verify.ts";

export const commands: readonly Command[] = [webhooksVerify, webhooksSign, webhooksExplain];
