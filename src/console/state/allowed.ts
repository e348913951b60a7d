import { type OperationId, outlineOf } from "../api/operations.ts";
import { role } from "../api/session.ts";

/** Why whoever is signed in may not call an operation, in words; undefined where they may. */
export function whyNot(id: OperationId): string | undefined {
  const { allowed } = outlineOf(id);
  if (role.value === undefined || allowed === undefined) return undefined;
  if (allowed.some((each) => each === role.value)) return undefined;
  return `This needs a token with the role ${allowed[0]}; yours has the role ${role.value}.`;
}
