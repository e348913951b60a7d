import type { Fail } from "../../src/api/failures.ts";
import { hmac, sameSecret } from "../../src/base/hmac.ts";
import type { ControlWorld } from "./world.ts";

type Keeping = Pick<ControlWorld, "instance">;

/**
 * What a page puts into its form and no other site can know: it binds the form to this emulator and to one thing, such
 * as a user code (DECISIONS.md, E7).
 */
export const formToken = ({ instance }: Keeping, about: string): string =>
  hmac("sha256", instance.formKey, about).toString("base64url");

export function requireFormToken(world: Keeping, about: string, given: string, fail: Fail<"stale-form">): void {
  if (!sameSecret(given, formToken(world, about))) fail("stale-form");
}
