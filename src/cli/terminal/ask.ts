import { confirm } from "@inquirer/prompts";
import type { Host } from "../host.ts";

/** Asks y/N on standard error, default no. Callers have checked that asking is allowed. */
export const askYesNo = (question: string, { stdin, stderr }: Host, signal: AbortSignal): Promise<boolean> =>
  confirm({ message: question, default: false }, { input: stdin, output: stderr, signal });
