import type { SignatureFormat } from "../../schemes/webhook-schemes.ts";

/** The signature of a webhook, if it covers only the body. */
export interface ConsoleSignature extends Pick<SignatureFormat, "digest" | "encoding" | "prefix"> {
  readonly header: string;
}

/** From the default scheme, at build time (build/console.ts). */
declare const SVC_CONSOLE_SIGNATURE: ConsoleSignature | null;

export const getSignature = (headers: Readonly<Record<string, string>>): string | undefined =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === SVC_CONSOLE_SIGNATURE?.header.toLowerCase())?.[1];

/** `HMAC-SHA512` */
export const getAlgorithmName = (): string => `HMAC-${SVC_CONSOLE_SIGNATURE?.digest.toUpperCase()}`;

/** Why the page cannot compute a signature; undefined if it can. */
export function getSigningProblem(): string | undefined {
  if (SVC_CONSOLE_SIGNATURE === null) return "the signature covers more than the body.";
  // A page on another machine without a certificate has no WebCrypto.
  return globalThis.crypto?.subtle === undefined ? "open this page over HTTPS or on localhost." : undefined;
}

const encoders: Readonly<Record<SignatureFormat["encoding"], (bytes: Uint8Array) => string>> = {
  hex: (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""),
  base64: (bytes) => btoa(String.fromCharCode(...bytes)),
};

/** The signature of a body with the base64 key of the workspace. */
export async function computeSignature(hmacKeyBase64: string, body: Uint8Array<ArrayBuffer>): Promise<string> {
  const { digest, encoding, prefix } = SVC_CONSOLE_SIGNATURE!;
  const raw = Uint8Array.from(atob(hmacKeyBase64), (letter) => letter.charCodeAt(0));
  const hash = digest.replace("sha", "SHA-");
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash }, false, ["sign"]);
  const signed = new Uint8Array(await crypto.subtle.sign("HMAC", key, body));
  return prefix + encoders[encoding](signed);
}
