/**
 * Whether a signed request is young enough on one of the clocks. An emulator asks the virtual and the wall clock,
 * since real clients sign with wall time; strict checks pass the virtual one alone (DECISIONS.md, P24). Times to
 * come are accepted, as the verifiers of the connected apps do.
 */
export const isFresh = (signedAt: number, nows: readonly number[], maxAge: number): boolean =>
  nows.some((now) => now - signedAt <= maxAge);
