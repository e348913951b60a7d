import { hash } from "node:crypto";

/** A normalized address for comparison, whatever its spelling (DECISIONS.md, R11). */
export const toAddressKey = (address: string): string => normalizeText(address.trim()).toLowerCase();

/** Normalizing is slower than checking, and most addresses are normalized already. */
const normalizeText = (text: string): string => (/[^ -~]/.test(text) ? text.normalize("NFC") : text);

/** The key of an address in the routing data: lower-case hex SHA-256 of its normalized form (DECISIONS.md, R11). */
export const hashEmail = (address: string): string => hash("sha256", toAddressKey(address), "hex");

/** Whether a string is already such a hash, in either case. */
export const isEmailHash = (text: string): boolean => text.length === 64 && /^[0-9a-fA-F]+$/.test(text);
