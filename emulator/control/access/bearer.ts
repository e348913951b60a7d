import type { ControlRole } from "../../../src/api/control-roles.ts";

/** A token of the control plane, without its secret. */
export interface Bearer {
  readonly name: string;
  readonly role: ControlRole;
  /** Undefined: the token in the run file, which is valid as long as the emulator runs. */
  readonly hash: string | undefined;
  /** The only workspace that it can see and change. Undefined: all of them, and shared data. */
  readonly workspace?: { readonly id: number; readonly name: string } | undefined;
}
