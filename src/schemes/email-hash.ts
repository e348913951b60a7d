import { hash } from "node:crypto";

/**
 * The key of an address in the routing data: lower-case hex SHA-256 of the trimmed, lower-cased address (DECISIONS.md,
 * R11).
 */
export const emailHash = (address: string): string => hash("sha256", address.trim().toLowerCase(), "hex");

/** Whether a text is such a hash already. */
export const isEmailHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);
