import { hash } from "node:crypto";

/** An address as it is compared: the same one, however it is written. */
export const addressKey = (address: string): string => address.trim().toLowerCase();

/** The key of an address in the routing data: lower-case hex SHA-256 of what it is compared by (DECISIONS.md, R11). */
export const emailHash = (address: string): string => hash("sha256", addressKey(address), "hex");

/** Whether a text is such a hash already. */
export const isEmailHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);
