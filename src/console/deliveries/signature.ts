/** HMAC-SHA512 over the bytes with the key that the base64 text stands for, in lower-case hexadecimal digits. */
export async function contentHash(hmacKeyBase64: string, body: Uint8Array<ArrayBuffer>): Promise<string> {
  const raw = Uint8Array.from(atob(hmacKeyBase64), (letter) => letter.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-512" }, false, ["sign"]);
  const digest = new Uint8Array(await crypto.subtle.sign("HMAC", key, body));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A page of another machine without a certificate has no WebCrypto. */
export const canSign = (): boolean => globalThis.crypto?.subtle !== undefined;
