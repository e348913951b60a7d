/** Whether a signed request is young enough. Times to come are accepted, as the verifiers of the connected apps do. */
export const isFresh = (signedAt: number, now: number, maxAge: number): boolean => now - signedAt <= maxAge;
