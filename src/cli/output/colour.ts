import { isSwitchedOn } from "../config/environment.ts";
import type { Host, OutputStream } from "../host.ts";

type Style = (text: string) => string;

export interface Paint {
  readonly bold: Style;
  readonly dim: Style;
  readonly red: Style;
  readonly green: Style;
  readonly yellow: Style;
  readonly cyan: Style;
}

const same: Style = (text) => text;

/** No colours. */
export const plainPaint: Paint = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same };

/** Whether a stream gets colours: decided once per stream, by us alone (DECISIONS.md, L4). */
export function hasColour(stream: OutputStream, flag: boolean | undefined, env: Host["env"]): boolean {
  if (flag !== undefined) return flag;
  // Any value of NO_COLOR forbids them, as it is defined.
  if (isSwitchedOn(env.SVC_NO_COLOR) || env.NO_COLOR) return false;
  if (isSwitchedOn(env.FORCE_COLOR) || isSwitchedOn(env.CLICOLOR_FORCE)) return true;
  if (env.FORCE_COLOR) return false;
  return env.TERM !== "dumb" && stream.isTTY === true;
}
