import { createHash, createHmac, randomBytes } from "node:crypto";
import { hashEmail } from "../base/email-address.ts";
import type { FieldLocation, PersonalKind } from "./fields.ts";

/** Kind of a string. The words of a name are replaced, and the words of an error are preserved if possible. */
export type TextKind = FieldLocation | "name";

export type SecretKind = "secret" | "token" | "JSON Web Token";

/**
 * Replaces values with stand-ins. Equal values get the same stand-in if the key is the same. The key is not part of the
 * corpus, so a stand-in does not reveal its value.
 */
export class StandIns {
  readonly #key: Buffer;
  /** Position of the current value, such as `request body name`. */
  place = "";
  /** True if values are reported instead of replaced. */
  readonly isScan: boolean = false;
  /** Names from name fields. `words` contains the replaced words of free text. */
  readonly names = new Set<string>();
  readonly words = new Set<string>();
  /** Names of people from name fields, in lower case. */
  readonly people = new Set<string>();
  /** Known secrets with their stand-ins. Secrets can occur again anywhere. */
  readonly secrets = new Map<string, string>();
  /** Hashes of known e-mail addresses, with the hashes of their stand-ins. */
  readonly #hashes = new Map<string, string>();
  /** Tokens that this object created. A secret can have the same prefix as a stand-in. */
  readonly #created = new Set<string>();

  constructor(key: Buffer = randomBytes(32)) {
    this.#key = key;
  }

  /** Calls a function for a part of the current position. */
  within<Result>(part: string, edit: () => Result): Result {
    const { place } = this;
    this.place = `${place} ${part}`;
    const result = edit();
    this.place = place;
    return result;
  }

  #createDigest(kind: string, value: string): Buffer {
    return createHmac("sha256", this.#key).update(`${kind}\0${value}`).digest();
  }

  #createLetters(kind: string, value: string, length: number): string {
    return [...this.#createDigest(kind, value).subarray(0, length)]
      .map((byte) => "abcdefghijklmnopqrstuvwx"[byte % 24])
      .join("");
  }

  /** Creates a word such as `Qxabcdef`, which is in no dictionary. Preserves the case of the replaced word. */
  createWord(word: string, _kind?: TextKind): string {
    const letters = this.#createLetters("word", word.toLowerCase(), 7);
    if (word === word.toUpperCase() && word.length > 1) return `QX${letters.toUpperCase()}`;
    return word[0] === word[0]!.toUpperCase() ? `Qx${letters}` : `qx${letters}`;
  }

  /** Creates an address such as `qxabcdefghi@qxabcdefg.example`. Addresses are case-insensitive, as in the service. */
  createEmail(address: string): string {
    const lower = address.trim().toLowerCase();
    const [local = "", domain = ""] = lower.split("@");
    const standIn = `qx${this.#createLetters("local", `${local}@${domain}`, 9)}@qx${this.#createLetters("domain", domain, 7)}.example`;
    this.#hashes.set(hashEmail(address), hashEmail(standIn));
    return standIn;
  }

  createHost(name: string): string {
    return `qx${this.#createLetters("domain", name.toLowerCase(), 7)}.example`;
  }

  createPhone(digits: string): string {
    const number = this.#createDigest("phone", digits).readUInt32BE(0) % 10_000_000;
    return `+1555${String(number).padStart(7, "0")}`;
  }

  /** Creates a number in the same format that starts with 5. Coordinates stay valid. */
  createNumber(text: string, kind?: PersonalKind | "secret"): string {
    const created = [...this.#createDigest("number", text), ...this.#createDigest("numbers", text)]
      .map((byte) => byte % 10)
      .join("");
    let at = 0;
    return text.replace(/\d+/g, (group) => {
      const start =
        at > 0 ? "" : kind === "coordinate" ? (group.length > 2 ? "155" : "55") : group.length >= 7 ? "555" : "5";
      const digits = start + created.slice(at + start.length, at + group.length);
      at += group.length;
      return digits.padEnd(group.length, "5").slice(0, group.length);
    });
  }

  /** Creates a date of 1955 in the same format. */
  createDate(text: string): string {
    const part = `0${1 + (this.#createDigest("date", text)[0]! % 9)}`;
    return text.replace(/\p{L}{3,}/gu, "May").replace(/\d+/g, (group) => {
      if (group.length === 4) return "1955";
      if (group.length === 8) return `1955${part}${part}`;
      return group.length > 2 ? this.createNumber(group) : part.slice(-group.length);
    });
  }

  /**
   * Creates a token in the same format: UUID, hexadecimal digits, or letters and digits. Tokens start with `5afe` or
   * `safe`.
   */
  createToken(value: string, _kind?: SecretKind): string {
    const known = this.#hashes.get(value.toLowerCase());
    if (known !== undefined) return known;
    const stored = this.secrets.get(value);
    if (stored !== undefined) return stored;
    const standIn = this.#deriveToken(value);
    this.#created.add(standIn);
    if (value.length >= 6) this.secrets.set(value, standIn);
    return standIn;
  }

  isOwn(text: string): boolean {
    return this.#created.has(text);
  }

  /**
   * Creates a stand-in for a file, whose content is not stored. A PDF becomes a blank PDF, and other files become a
   * short text. An empty file stays empty.
   */
  createFile(bytes: Buffer): Buffer {
    if (bytes.length === 0) return bytes;
    const mark = this.createToken(createHash("sha256").update(bytes).digest("hex")).slice(0, 24);
    const isPdf = /^%PDF-/.test(bytes.subarray(0, 1024).toString("latin1"));
    return Buffer.from(isPdf ? createBlankPdf(mark) : `${mark}\n`);
  }

  #deriveToken(value: string): string {
    const hex = this.#createDigest("token", value).toString("hex");
    if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)) {
      return `5afe${hex.slice(0, 4)}-${hex.slice(4, 8)}-4${hex.slice(8, 11)}-a${hex.slice(11, 14)}-${hex.slice(14, 26)}`;
    }
    const length = Math.max(12, Math.min(value.length, 512));
    if (/^[0-9a-f]+$/i.test(value) && value.length >= 16) return `5afe5afe${hex.repeat(8)}`.slice(0, length);
    const long = Buffer.concat([1, 2, 3, 4, 5, 6, 7, 8].map((n) => this.#createDigest(`token${n}`, value)))
      .toString("base64url")
      .replace(/[-_]/g, "x")
      .repeat(2);
    if (/^[A-Za-z0-9+/]+={1,2}$/.test(value) && value.length % 4 === 0 && value.length >= 12) {
      const padding = value.slice(value.indexOf("="));
      // The last character before the padding has bits that must be zero.
      return `safe${long}`.slice(0, value.length - padding.length - 1).concat("A", padding);
    }
    return `safe${long}`.slice(0, length);
  }
}

/** Reports whether a string is a stand-in for a word. */
export const isStandInWord = (word: string): boolean => /^qx[a-x]{7}$/i.test(word);
export const isStandInToken = (text: string): boolean => /^(safe|5afe)/.test(text);
export const isStandInEmail = (text: string): boolean => /^qx[a-x]{9}@qx[a-x]{7}\.example$/i.test(text);
export const isStandInPhone = (text: string): boolean => /^\+1555\d{7}$/.test(text);
export const isStandInNumber = (text: string, isCoordinate = false): boolean =>
  isCoordinate ? /^\D*(?:155|55?)(?:\D|$)/.test(text) : /^\D*(?:555|5\d{0,5}(?:\D|$))/.test(text);
export const isStandInDate = (text: string): boolean => !/\d{4}/.test(text) || /1955|^555/.test(text);

/** Creates an empty page. The comment makes the file different for each document. */
const createBlankPdf = (mark: string): string => {
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>",
  ];
  let text = `%PDF-1.4\n% ${mark}\n`;
  let table = "";
  for (const [at, object] of objects.entries()) {
    table += `${String(text.length).padStart(10, "0")} 00000 n \n`;
    text += `${at + 1} 0 obj\n${object}\nendobj\n`;
  }
  const start = text.length;
  return `${text}xref\n0 4\n0000000000 65535 f \n${table}trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
};

export const isStandInFile = (bytes: Buffer): boolean =>
  /^(?:%PDF-1\.4\n% )?5afe5afe[0-9a-f]{16}\n/.test(bytes.subarray(0, 60).toString("latin1"));
