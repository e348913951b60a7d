/** Whether a signed request is recent enough. Future times are accepted, as in the verifiers of the connected apps. */
export const isFresh = (signedAt: number, now: number, maxAge: number): boolean => now - signedAt <= maxAge;
