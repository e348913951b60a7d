import * as z from "zod";

const base64url = z.string().regex(/^[\w-]+$/);

/** An RSA key as RFC 7517 writes it. */
export const PrivateJwk = z.strictObject({
  kty: z.literal("RSA"),
  n: base64url,
  e: base64url,
  d: base64url,
  p: base64url,
  q: base64url,
  dp: base64url,
  dq: base64url,
  qi: base64url,
});
export type PrivateJwk = z.infer<typeof PrivateJwk>;
