/**
 * A user code as the table user_codes keeps it: people type it in any case and with or without punctuation
 * (RFC 8628, 6.1; decisions.md, R30).
 */
export const userCodeKey = (code: string): string => code.toUpperCase().replace(/[^A-Z0-9]/g, "");
