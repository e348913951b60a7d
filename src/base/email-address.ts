import { hash } from "node:crypto";
import { domainToUnicode } from "node:url";

/**
 * An e-mail address is a dot-atom (RFC 5322, 3.2.3; RFC 6532, 3.2 for other scripts) at a domain of at least two
 * labels. The domain can be internationalized (RFC 5890). Quoted local parts and addresses in brackets are rejected:
 * hardly any sign-up form accepts them, and in a file they usually are mistakes.
 */

/** A path has at most 256 characters, including two angle brackets (RFC 5321, 4.5.3.1.3). */
const maxLength = 254;

/** Maximum number of characters of a label (RFC 1035, 2.3.4). */
const maxLabelLength = 63;

/** Quick check that accepts most addresses. The detailed check runs only for the rest. */
const commonAddress =
  /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:(?![xX][nN]--)[a-zA-Z\d]+(?:-+[a-zA-Z\d]+)*\.)+(?:[a-zA-Z]{2,}|(?![xX][nN]--)(?=[a-zA-Z\d-]*[a-zA-Z])(?=[^.]{2})[a-zA-Z\d]+(?:-+[a-zA-Z\d]+)*)$/;
const hostName = /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+(?!\d+$)[a-z\d][a-z\d-]{0,61}[a-z\d]$/;

const asciiCharacter = /^[\w!#$%&'*+/=?^`{|}~.@-]$/;
const visible = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u;
const domainCharacters = /^[\p{L}\p{M}\p{N}.-]+$/u;
/** Unicode replacement character, which indicates that a program lost a character. */
const replacement = "\ufffd";

/** Describes in a sentence why a string is not an e-mail address. Returns undefined for an address. */
export function findEmailAddressProblem(text: string): string | undefined {
  if (text.length > maxLength) return `it is longer than ${maxLength} characters`;
  if (commonAddress.test(text)) return text.length > maxLabelLength ? findDomainProblem(text) : undefined;
  const found = [...text].find((character) => !isAllowedCharacter(character));
  if (found !== undefined) return `it contains ${describeCharacter(found)}`;
  const [local = "", domain, ...others] = text.split("@");
  if (domain === undefined) return "it has no @";
  if (others.length > 0) return "it has more than one @";
  if (local === "") return "it has no part before the @";
  if (local.split(".").includes("")) return "the part before the @ begins or ends with a dot, or has two in a row";
  if (/^\p{M}/u.test(local)) return "it begins with a combining mark";
  return findDomainProblem(text);
}

export const isEmailAddress = (text: string): boolean => findEmailAddressProblem(text) === undefined;

function findDomainProblem(text: string): string | undefined {
  const at = text.indexOf("@");
  const domain = text.slice(at + 1).normalize("NFC");
  if (domain === "") return "it has no part after the @";
  const name = toAsciiDomain(domain);
  if (name === undefined || !hostName.test(name)) {
    return domain.includes(".") ? "its domain is not valid" : "its domain has no dot";
  }
  const length = new TextEncoder().encode(text.slice(0, at)).length + 1 + name.length;
  return length > maxLength ? `it is longer than ${maxLength} bytes` : undefined;
}

/**
 * Converts a domain to its DNS form. Characters that are valid only after a mapping, such as wide letters, are rejected
 * because IDNA 2008 excludes them.
 */
function toAsciiDomain(domain: string): string | undefined {
  if (!domainCharacters.test(domain) || domain.normalize("NFKC") !== domain) return undefined;
  const url = `http://${domain}/`;
  if (!URL.canParse(url)) return undefined;
  const name = new URL(url).hostname;
  // Node 24 keeps labels that are not valid Punycode.
  return /(?:^|\.)xn--/.test(domainToUnicode(name)) ? undefined : name;
}

const isAllowedCharacter = (character: string): boolean =>
  character < "\x80" ? asciiCharacter.test(character) : visible.test(character) && character !== replacement;

export function describeCharacter(character: string): string {
  if (character === " ") return "a space";
  if (character === "\t") return "a tab";
  if (visible.test(character) && character !== replacement) return `"${character}"`;
  const code = `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
  return character === replacement ? `${code}, the replacement character` : `the invisible character ${code}`;
}

/** Normalizes an address, so that all its spellings compare equal (DECISIONS.md, R11). */
export const toAddressKey = (address: string): string => address.trim().normalize("NFC").toLowerCase();

/**
 * Computes the key of an address in the routing data: lower-case hex SHA-256 of its normalized form (DECISIONS.md,
 * R11).
 */
export const hashEmail = (address: string): string => hash("sha256", toAddressKey(address), "hex");

/** Reports whether a string is already such a hash, in either case. */
export const isEmailHash = (text: string): boolean => text.length === 64 && /^[0-9a-fA-F]+$/.test(text);
