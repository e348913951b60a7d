import { findEmailAddressProblem } from "../../../../../base/email-address.ts";
import { hashEmail, isEmailHash, toAddressKey } from "../../../../../schemes/email-hash.ts";
import { UsageError } from "../../../../process/failure.ts";
import { mask } from "../../../../process/redact.ts";

/** Contents of the rows of a table: whether a string is such an identifier, and its form in requests. */
export interface IdentifierKind {
  readonly noun: string;
  readonly findProblem: (text: string) => string | undefined;
  readonly toValue: (text: string) => string;
  /** The same for strings of the same value, made with less work: repetitions are counted by it. */
  readonly toKey: (text: string) => string;
  /** Two forms may have the same value, and not the same key: decides which of them it is. */
  readonly getForm?: (text: string) => "address" | "digest" | undefined;
  /** A printable form of it: plans and rejections end in logs. */
  readonly toShown: (text: string) => string;
}

/** How e-mail addresses become identifiers; none: they are sent as they are, for services that hash otherwise. */
export const emailHashings = ["sha256", "none"] as const;
export type EmailHashing = (typeof emailHashings)[number];

const odd = /[\s\p{Cc}]/u;
const identity = (text: string): string => text;

/** Any text without spaces or control characters inside; the service takes any string. */
export const createWordKind = (noun: string): IdentifierKind => ({
  noun,
  toShown: identity,
  findProblem(text) {
    if (text === "") return `not a valid ${noun}: it is empty`;
    if (!odd.test(text)) return undefined;
    return `not a valid ${noun}: it contains ${/\s/.test(text) ? "spaces" : "control characters"}`;
  },
  toValue: identity,
  toKey: identity,
});

/** The same, of which nothing may be printed. */
export const createSecretWordKind = (noun: string): IdentifierKind => ({
  ...createWordKind(noun),
  toShown: () => mask,
});

/** An external id; the emulator's tables, and svc router resolve, have it behind its type. */
export const externalId: IdentifierKind = {
  ...createWordKind("external id"),
  toValue: (text) => text.replace(/^CHAT_B:(?=.)/, ""),
  toKey: (text) => text.replace(/^CHAT_B:(?=.)/, ""),
};

/** Addresses are hashed; a digest passes (DECISIONS.md, R11), in lower case, as the service stores it. */
export const createHashedEmailKind = (hash: (address: string) => string): IdentifierKind => ({
  noun: "e-mail",
  toShown: identity,
  findProblem(text) {
    const problem = isEmailHash(text) ? undefined : findEmailAddressProblem(text);
    return problem && `neither an e-mail address nor a SHA-256 digest: ${problem}`;
  },
  toValue: (text) => (isEmailHash(text) ? text.toLowerCase() : hash(text)),
  toKey: toAddressKey,
  getForm: (text) => (isEmailHash(text) ? "digest" : "address"),
});

const emailKinds: Readonly<Record<EmailHashing, IdentifierKind>> = {
  sha256: createHashedEmailKind(hashEmail),
  none: createWordKind("e-mail"),
};

export const getEmailKind = (hashing: EmailHashing): IdentifierKind => emailKinds[hashing];

/** The identifier in a request for a typed one. */
export function toIdentifier({ findProblem, toValue, toShown }: IdentifierKind, typed: string): string {
  const text = typed.trim();
  const found = findProblem(text);
  if (found !== undefined) throw new UsageError(`"${toShown(text)}" is ${found}`);
  return toValue(text);
}

interface Options {
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** From some row on the input is unreadable. The caller adds the work that was done before it. */
export class InputError extends UsageError {
  readonly code: string;

  constructor(code: string, message: string, options: Options = {}) {
    super(message, options);
    this.code = code;
  }
}

/** The input cannot be read. */
export const createUnreadableInputError = (message: string, options: Options = {}): InputError =>
  new InputError("unreadable_input", message, options);
