import type { RouterCall } from "../world.ts";

/**
 * Verifies a signature that must be fresh by the virtual clock. Real senders sign with wall time, so one that only the
 * wall clock finds fresh holds too, with a finding, unless `--strict=signatures` (DECISIONS.md, P24).
 */
export function freshBy<V extends { readonly ok: true } | { readonly ok: false; readonly reason: string }>(
  { clock, wall, settings, finding }: Pick<RouterCall, "clock" | "wall" | "settings" | "finding">,
  verify: (nowMs: number) => V,
): V {
  const verdict = verify(clock.now());
  if (verdict.ok || verdict.reason !== "stale" || settings.strict.has("signatures")) return verdict;
  const byWall = verify(wall.now());
  if (byWall.ok) finding("signature-fresh-by-wall", "by the virtual clock the signature is too old");
  return byWall;
}
