import { describeCharacter, findEmailAddressProblem, hashEmail, isEmailHash } from "../../../../base/email-address.ts";
import { createTextFlag } from "../../../../derive/command-spec.ts";
import { UsageError } from "../../../process/failure.ts";

/** Kind of identifier in a table. It defines whether a string is such an identifier, and its form in requests. */
export interface IdentifierKind {
  readonly noun: string;
  readonly findProblem: (text: string) => string | undefined;
  readonly toValue: (text: string) => string;
  /** Returns the printable form, because plans and rejections end up in logs. */
  readonly toShown: (text: string) => string;
}

/** Ways to convert addresses to identifiers. `none` sends them unchanged, for services that hash differently. */
const emailHashings = ["sha256", "none"] as const;
export type EmailHashing = (typeof emailHashings)[number];

export const hashFlag = createTextFlag("hash", "HOW", "How e-mail addresses are sent; none sends them unchanged", {
  choices: emailHashings,
  default: "sha256",
});

const forbiddenCharacters = /[\s\p{Cc}\p{Cf}]/u;
const identity = (text: string): string => text;

/** Creates a kind for strings without spaces or invisible characters. The service accepts any string. */
export const createWordKind = (noun: string, { toValue = identity, toShown = identity } = {}): IdentifierKind => ({
  noun,
  findProblem(text) {
    if (text === "") return `not a valid ${noun}: it is empty`;
    const [found] = forbiddenCharacters.exec(text) ?? [];
    if (found === undefined) return undefined;
    const isControl = /\p{Cc}/u.test(found);
    const characters = /\s/.test(text) ? "spaces" : isControl ? "control characters" : describeCharacter(found);
    return `not a valid ${noun}: it contains ${characters}`;
  },
  toValue,
  toShown,
});

/** Trimmed addresses are hashed. Digests are accepted (DECISIONS.md, R11), in lower case as they are stored. */
const hashedEmailKind: IdentifierKind = {
  noun: "e-mail",
  findProblem(input) {
    const text = input.trim();
    const problem = isEmailHash(text) ? undefined : findEmailAddressProblem(text);
    return problem && `neither an e-mail address nor a SHA-256 digest: ${problem}`;
  },
  toValue: (text) => (isEmailHash(text.trim()) ? text.trim().toLowerCase() : hashEmail(text)),
  toShown: identity,
};

const emailKinds: Readonly<Record<EmailHashing, IdentifierKind>> = {
  sha256: hashedEmailKind,
  none: createWordKind("e-mail"),
};

export const getEmailKind = (hashing: EmailHashing): IdentifierKind => emailKinds[hashing];

export function toIdentifier({ findProblem, toValue, toShown }: IdentifierKind, text: string): string {
  const problem = findProblem(text);
  if (problem !== undefined) throw new UsageError(`"${toShown(text)}" is ${problem}`);
  return toValue(text);
}
