import { Chalk } from "chalk";
import type { StyleName } from "./styled.ts";

export type Paint = Readonly<Record<StyleName, (text: string) => string>>;

/** Creates the chalk instance. svc decides about colors, so chalk gets the level and detects nothing. */
export function createPaint(): Paint {
  const { bold, dim, red, green, yellow, cyan } = new Chalk({ level: 1 });
  return { bold, dim, red, green, yellow, cyan };
}
