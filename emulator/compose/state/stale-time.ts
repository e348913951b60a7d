import type { Clock, Wall } from "../../../src/base/clock.ts";
import { isoSeconds } from "../../../src/base/clock.ts";
import { accessLifetime } from "../../cluster/identity/lifetimes.ts";

/**
 * What is to be said at the start when virtual time lies so far behind the wall that whoever checks tokens by their own
 * clock takes every one for expired (DECISIONS.md, P7); undefined while it does not. Ahead is no harm: tokens carry
 * no `nbf`.
 */
export function staleTime(clock: Clock, wall: Wall): string | undefined {
  const now = clock.now();
  if (wall.now() - now <= accessLifetime * 1_000) return undefined;
  return (
    `virtual time is ${isoSeconds(now)}, behind this machine's: others take the tokens of the emulator for expired; ` +
    `go ahead with \`svc emulator clock advance --to ${isoSeconds(wall.now())}\``
  );
}
