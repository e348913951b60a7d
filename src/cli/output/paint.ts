import { Chalk } from "chalk";
import type { StyleName } from "./styled.ts";

export type Paint = Readonly<Record<StyleName, (text: string) => string>>;

/** Creates the chalk instance. svc decides whether to use color, so chalk does not detect it. */
export function createPaint(): Paint {
  const { bold, dim, red, green, yellow, cyan } = new Chalk({ level: 1 });
  return { bold, dim, red, green, yellow, cyan };
}
