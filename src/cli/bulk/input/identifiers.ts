import { emailHash } from "../../../schemes/email-hash.ts";
import { mask } from "../../connection/redact.ts";

/** What the rows of a table hold: whether a text is such an identifier, and what is sent for it. */
export interface IdentifierKind {
  readonly noun: string;
  readonly problem: (text: string) => string | undefined;
  readonly value: (text: string) => string;
  /** What may be printed of it: plans and refusals end in logs. */
  readonly shown: (text: string) => string;
}

/** Any text without spaces inside; the service takes any string. */
export const word = (noun: string): IdentifierKind => ({
  noun,
  shown: (text) => text,
  problem: (text) => (/\s/.test(text) ? `no ${noun}: it contains spaces` : undefined),
  value: (text) => text,
});

/** The same, of which nothing may be printed. */
export const secretWord = (noun: string): IdentifierKind => ({ ...word(noun), shown: () => mask });

const isDigest = (text: string): boolean => text.length === 64 && /^[0-9a-fA-F]+$/.test(text);
const address = /^[^\s@]+@[^\s@]+$/;

/** Addresses are hashed; a digest passes (DECISIONS.md, R11), in lower case, as the service stores it. */
export const email: IdentifierKind = {
  noun: "e-mail",
  shown: (text) => text,
  problem: (text) =>
    address.test(text) || isDigest(text) ? undefined : "neither an e-mail address nor a SHA-256 digest",
  value: (text) => (isDigest(text) ? text.toLowerCase() : emailHash(text)),
};
