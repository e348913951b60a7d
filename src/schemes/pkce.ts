import { hash } from "../base/hmac.ts";

/** The S256 code challenge of a verifier (RFC 7636, section 4.2). */
export const computeCodeChallenge = (verifier: string): string => hash("sha256", verifier).toString("base64url");
