import { findEmailAddressProblem } from "../../../../../base/email-address.ts";
import { hashEmail, isEmailHash, toAddressKey } from "../../../../../schemes/email-hash.ts";
import { UsageError } from "../../../../process/failure.ts";
import { secretMask } from "../../../../process/redact.ts";

/** Kind of identifier in a table. It defines whether a string is such an identifier, and its form in requests. */
export interface IdentifierKind {
  readonly noun: string;
  readonly findProblem: (text: string) => string | undefined;
  readonly toValue: (text: string) => string;
  /**
   * Returns a key that is equal for strings with the same value and cheaper to compute. It is used to count
   * repetitions.
   */
  readonly toKey: (text: string) => string;
  /** Distinguishes forms that can have the same value but different keys. */
  readonly getForm?: (text: string) => "address" | "digest" | undefined;
  /** Returns the printable form, because plans and rejections end up in logs. */
  readonly toShown: (text: string) => string;
}

/**
 * Methods that convert e-mail addresses to identifiers. `none` sends them unchanged, for services that hash
 * differently.
 */
export const emailHashings = ["sha256", "none"] as const;
export type EmailHashing = (typeof emailHashings)[number];

const forbiddenCharacters = /[\s\p{Cc}]/u;
const identity = (text: string): string => text;

/** Creates a kind for strings without spaces or control characters. The service accepts any string. */
export const createWordKind = (noun: string): IdentifierKind => ({
  noun,
  toShown: identity,
  findProblem(text) {
    if (text === "") return `not a valid ${noun}: it is empty`;
    if (!forbiddenCharacters.test(text)) return undefined;
    return `not a valid ${noun}: it contains ${/\s/.test(text) ? "spaces" : "control characters"}`;
  },
  toValue: identity,
  toKey: identity,
});

export const createSecretWordKind = (noun: string): IdentifierKind => ({
  ...createWordKind(noun),
  toShown: () => secretMask,
});

const removeChatPrefix = (text: string): string => text.replace(/^CHAT_B:(?=.)/, "");

/** External ID. The emulator's tables and svc router resolve prefix it with its type. */
export const externalId: IdentifierKind = {
  ...createWordKind("external id"),
  toValue: removeChatPrefix,
  toKey: removeChatPrefix,
};

/**
 * Creates a kind that hashes addresses. A digest is accepted (DECISIONS.md, R11) and converted to lower case, as the
 * service stores it.
 */
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

export function toIdentifier({ findProblem, toValue, toShown }: IdentifierKind, input: string): string {
  const text = input.trim();
  const problem = findProblem(text);
  if (problem !== undefined) throw new UsageError(`"${toShown(text)}" is ${problem}`);
  return toValue(text);
}

interface Options {
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** Error for an input that is unreadable from some row on. The caller adds the completed work. */
export class InputError extends UsageError {
  readonly code: string;

  constructor(code: string, message: string, options: Options = {}) {
    super(message, options);
    this.code = code;
  }
}

export const createUnreadableInputError = (message: string, options: Options = {}): InputError =>
  new InputError("unreadable_input", message, options);
