import type { ControlRole } from "../../../src/api/control-roles.ts";

/** A token of the control plane, without what it is. */
export interface Bearer {
  readonly name: string;
  readonly role: ControlRole;
  /** Undefined: the token of the run file, which exists as long as the emulator. */
  readonly hash: string | undefined;
  /** The only one that it sees and moves; omitted: all of them, and what they share. */
  readonly workspace?: { readonly id: number; readonly name: string } | undefined;
}
