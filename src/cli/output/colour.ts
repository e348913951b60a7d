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
export const plain: Paint = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same };

const set = (value: string | undefined): boolean => value !== undefined && value !== "";
const forced = (value: string | undefined): boolean => set(value) && value !== "0";

/** Whether a stream gets colours: decided once per stream, by us alone (DECISIONS.md, L4). */
export function hasColour(stream: OutputStream, flag: boolean | undefined, env: Host["env"]): boolean {
  if (flag !== undefined) return flag;
  if (set(env.SVC_NO_COLOR) || set(env.NO_COLOR)) return false;
  if (forced(env.FORCE_COLOR) || forced(env.CLICOLOR_FORCE)) return true;
  return env.TERM !== "dumb" && stream.isTTY === true;
}
