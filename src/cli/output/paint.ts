import { Chalk } from "chalk";
import type { Paint } from "./output.ts";

/** Colours under our own decision: chalk is told the level and detects nothing. */
export function colours(): Paint {
  const chalk = new Chalk({ level: 1 });
  return {
    bold: chalk.bold,
    dim: chalk.dim,
    red: chalk.red,
    green: chalk.green,
    yellow: chalk.yellow,
    cyan: chalk.cyan,
  };
}
