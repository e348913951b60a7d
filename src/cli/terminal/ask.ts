import { confirm, input } from "@inquirer/prompts";
import type { Host } from "../host.ts";

/** Asks y/N on standard error, default no. Callers have checked that asking is allowed. */
export const askYesNo = (question: string, { stdin, stderr }: Host, signal: AbortSignal): Promise<boolean> =>
  confirm({ message: question, default: false }, { input: stdin, output: stderr, signal });

/** Asks for a line of text on standard error. */
export const askText = (question: string, { stdin, stderr }: Host, signal: AbortSignal): Promise<string> =>
  input({ message: question }, { input: stdin, output: stderr, signal });
