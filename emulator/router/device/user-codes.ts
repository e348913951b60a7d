/**
 * A user code as the table user_codes keeps it: people type it in any case and with or without punctuation
 * (RFC 8628, 6.1; DECISIONS.md, R30).
 */
export const userCodeKey = (code: string): string => code.toUpperCase().replace(/[^A-Z0-9]/g, "");

/** A user code as a device shows it: `WDJB-MJHT`. */
export function formatUserCode(code: string): string {
  const key = userCodeKey(code);
  return `${key.slice(0, 4)}-${key.slice(4)}`;
}
