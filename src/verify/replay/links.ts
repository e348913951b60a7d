import { isUtf8 } from "node:buffer";
import { tryParseJson } from "../../base/object.ts";
import { decodeUrlPart } from "../../base/urls.ts";
import { editJson } from "../json-edit.ts";

/**
 * Returns the kind of object that a number under this key identifies, such as `contract` for `contract_id` and for the
 * `id` of a contract.
 */
export const getIdScope = (key: string, resource: string): string => {
  const stem = key === "id" || key === "" ? resource : key.replace(/_?ids?$/, "");
  return stem
    .replace(/^.*-/, "")
    .replaceAll("_", "")
    .replace(/ies$/, "y")
    .replace(/(?:ss)?s$/, (end) => (end === "sss" ? "ss" : ""));
};

export const isIdKey = (key: string): boolean => /(?:^|_)ids?$|^(?:uuid|number|reference_id)$/.test(key);

/** Maps recorded identifiers, tokens and times to the corresponding values of the replay. */
export class ReplayLinks {
  readonly #texts = new Map<string, string>();
  readonly #numbers = new Map<string, number>();
  readonly #recordedContracts = new Map<number, Set<number>>();
  readonly #scopes = new Set<string>();
  /** Replayed URLs by the target of the recorded URL. Requests to signed URLs need them. */
  readonly #urls = new Map<string, string>();

  /** Reports whether a response of the replay contains the recorded identifier. */
  has(name: string, id: string, resource: string): boolean {
    if (this.#texts.has(id)) return true;
    return /^\d+$/.test(id) && this.findRelatedNumber(getIdScope(name, resource), Number(id)) !== undefined;
  }

  findText(recorded: string): string | undefined {
    return this.#texts.get(recorded);
  }

  /** Finds a number by scope or related scope. Otherwise, returns the number that all scopes have in common. */
  findNumber(scope: string, recorded: number): number | undefined {
    const known = this.findRelatedNumber(scope, recorded);
    if (known !== undefined) return known;
    const others = new Set(this.#findNumbers([...this.#scopes], recorded));
    return others.size === 1 ? [...others][0] : undefined;
  }

  /** Finds a number by scope or related scope, because `contract_type_id` is the `id` of a type. */
  findRelatedNumber(scope: string, recorded: number): number | undefined {
    const exact = this.findExactNumber(scope, recorded);
    if (exact !== undefined) return exact;
    const isRelated = (other: string) => scope !== "" && (other.endsWith(scope) || scope.endsWith(other));
    return this.#findNumbers([...this.#scopes].filter(isRelated), recorded)[0];
  }

  findExactNumber(scope: string, recorded: number): number | undefined {
    return this.#numbers.get(`${scope} ${recorded}`);
  }

  /** Finds the recorded number of a contract in the replay. */
  findRecordedContract(actual: number): number | undefined {
    const [recorded] = this.#recordedContracts.get(actual) ?? [];
    return recorded;
  }

  #findNumbers(scopes: readonly string[], recorded: number): number[] {
    return scopes.flatMap((scope) => this.findExactNumber(scope, recorded) ?? []);
  }

  linkText(recorded: string, actual: string): void {
    this.#texts.set(recorded, actual);
    if (/^https?:\/\//.test(recorded)) this.#urls.set(getRequestTarget(recorded), actual);
    const [, prefix, number] = /^([A-Z]{1,5})-(\d+)$/.exec(recorded) ?? [];
    const [, other, actualNumber] = /^([A-Z]{1,5})-(\d+)$/.exec(actual) ?? [];
    if (prefix !== undefined && prefix === other && /^[TH]$/.test(prefix))
      this.linkNumber("contract", Number(number), Number(actualNumber));
  }

  linkNumber(scope: string, recorded: number, actual: number): void {
    if (scope === "contract") this.#linkContract(recorded, actual);
    this.#scopes.add(scope);
    this.#numbers.set(`${scope} ${recorded}`, actual);
  }

  #linkContract(recorded: number, actual: number): void {
    const previous = this.findExactNumber("contract", recorded);
    if (previous === actual) return;
    if (previous !== undefined) this.#recordedContracts.get(previous)?.delete(recorded);
    this.#recordedContracts.set(actual, (this.#recordedContracts.get(actual) ?? new Set()).add(recorded));
  }

  findUrl(target: string): string | undefined {
    return this.#urls.get(target);
  }

  translateText(text: string): string {
    const link = this.#texts.get(text);
    if (link !== undefined) return link;
    return text
      .replace(/\b[A-Z]{1,5}-\d+\b/g, (id) => this.#texts.get(id) ?? id)
      .replace(/\b(?:safe|5afe)[A-Za-z0-9+/_=.-]+|\beyJ[\w.-]+/g, (token) => this.#texts.get(token) ?? token)
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)/g, (time) => this.#texts.get(time) ?? time);
  }

  /** Replaces the links in a request target. `names` are the parameters of its declared path by position. */
  translateTarget(target: string, names: readonly (string | undefined)[], resource: string): string {
    const [path = "", query] = target.split(/\?(.*)/s);
    const translate = (encoded: string, plain: string, idName: string | undefined) => {
      const translated = this.translateNamed(idName, plain, resource);
      return translated === plain ? encoded : encodeURIComponent(translated);
    };
    const segments = path.split("/").map((segment, at) => translate(segment, decodeUrlPart(segment), names[at]));
    if (query === undefined) return segments.join("/");
    const pairs = query.split("&").map((pair) => {
      const equals = pair.indexOf("=");
      if (equals < 0) return pair;
      const [name, value] = [pair.slice(0, equals), pair.slice(equals + 1)];
      return `${name}=${translate(value, decodeUrlPart(value.replaceAll("+", " ")), toIdName(decodeUrlPart(name)))}`;
    });
    return `${segments.join("/")}?${pairs.join("&")}`;
  }

  /** Replaces the links in a request body and preserves its formatting. */
  translateBody(body: Buffer, resource: string): Buffer {
    const text = body.toString("utf8");
    if (body.length === 0 || !isUtf8(body)) return body;
    if (tryParseJson(text) === undefined) return Buffer.from(this.translateText(text));
    const edited = editJson(text, {
      editString: ({ isKey, name, value }) => this.translateNamed(isKey ? undefined : toIdName(name), value, resource),
      editNumber: ({ name, text: number }) =>
        isIdKey(name) && /^\d+$/.test(number) ? this.translateNamed(name, number, resource) : number,
    });
    return Buffer.from(edited);
  }

  /** Translates the value of a parameter or field. `idName` is its name if it can be a numeric identifier. */
  translateNamed(idName: string | undefined, value: string, resource: string): string {
    if (idName === undefined || !/^\d+$/.test(value)) return this.translateText(value);
    return String(this.findNumber(getIdScope(idName, resource), Number(value)) ?? value);
  }
}

const toIdName = (name: string): string | undefined => (isIdKey(name) ? name : undefined);

export const getRequestTarget = (url: string): string => url.replace(/^https?:\/\/[^/]+/, "").split("#")[0]!;
