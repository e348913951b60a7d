import { hash } from "node:crypto";

/** Normalizes an address, so that all its spellings compare equal (DECISIONS.md, R11). */
export const toAddressKey = (address: string): string => normalizeText(address.trim()).toLowerCase();

/** Normalizing is slower than checking, and most addresses are already normalized. */
const normalizeText = (text: string): string => (/[^ -~]/.test(text) ? text.normalize("NFC") : text);

/**
 * Computes the key of an address in the routing data: lower-case hex SHA-256 of its normalized form (DECISIONS.md,
 * R11).
 */
export const hashEmail = (address: string): string => hash("sha256", toAddressKey(address), "hex");

/** Reports whether a string is already such a hash, in either case. */
export const isEmailHash = (text: string): boolean => text.length === 64 && /^[0-9a-fA-F]+$/.test(text);
