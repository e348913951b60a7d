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

const odd = /[\s\p{Cc}]/u;

/** Any text without spaces or control characters inside; the service takes any string. */
export const word = (noun: string): IdentifierKind => ({
  noun,
  shown: (text) => text,
  problem(text) {
    if (!odd.test(text)) return undefined;
    return `no ${noun}: it contains ${/\s/.test(text) ? "spaces" : "control characters"}`;
  },
  value: (text) => text,
});

/** The same, of which nothing may be printed. */
export const secretWord = (noun: string): IdentifierKind => ({ ...word(noun), shown: () => mask });

const isDigest = (text: string): boolean => text.length === 64 && /^[0-9a-fA-F]+$/.test(text);
/** U+FFFD stands where some program lost a character: the hash would be that of no address. */
const address = /^[^\s@\p{Cc}\ufffd]+@[^\s@\p{Cc}\ufffd]+$/u;
/** RFC 5321, 4.5.3.1.3: a path, which has angle brackets round it, is no longer than 256. */
const longest = 254;

/** Addresses are hashed; a digest passes (DECISIONS.md, R11), in lower case, as the service stores it. */
export const email: IdentifierKind = {
  noun: "e-mail",
  shown: (text) => text,
  problem: (text) =>
    (text.length <= longest && address.test(text)) || isDigest(text)
      ? undefined
      : "neither an e-mail address nor a SHA-256 digest",
  value: (text) => (isDigest(text) ? text.toLowerCase() : emailHash(text)),
};
