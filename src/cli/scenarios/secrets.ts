import { isSecretName, redactText } from "../../api/secrets.ts";
import { mask } from "../connection/redact.ts";

/** Shorter ones are part of ordinary words. */
const minLength = 6;

/** The secrets that a story has met: none of them is printed. */
export class Secrets {
  readonly #values = new Set<string>();

  constructor(values: Iterable<string | undefined>) {
    for (const value of values) this.#add(value);
  }

  /** Adds what goes by the name of a secret in a result, or under the name by which a story saves it. */
  learn(value: unknown, name = ""): void {
    if (typeof value === "string") {
      if (isSecretName(name) && !isWord(value)) this.#add(value);
    } else if (typeof value === "object" && value !== null) {
      const isList = Array.isArray(value);
      for (const [key, inner] of Object.entries(value)) this.learn(inner, isList ? name : key);
    }
  }

  #add(value: string | undefined): void {
    if (value !== undefined && value.length >= minLength) this.#values.add(value);
  }

  /** A text without any of them, and without what looks like one. */
  hide(text: string): string {
    const shown = [...this.#values]
      .sort((one, other) => other.length - one.length)
      .reduce((now, secret) => now.replaceAll(secret, mask), text);
    return redactText(shown, { mask });
  }

  /** A value of JSON without any of them. */
  hideIn<T>(value: T): T;
  hideIn(value: unknown): unknown {
    if (typeof value === "string") return this.hide(value);
    if (Array.isArray(value)) return value.map((one) => this.hideIn(one));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.hideIn(one)]));
  }
}

/** Codes of failures and names of states are words. */
const isWord = (text: string): boolean => /^[a-z]+(?:[-_ ][a-z]+)*$/i.test(text) && !/[a-z][A-Z]/.test(text);
