import type { Operation } from "../../api/operation.ts";
import { writeJson } from "../../base/json.ts";
import { isObject, tryParseJson } from "../../base/object.ts";
import { pairHeaders } from "../exchange.ts";
import { findClaim } from "../replay/claims.ts";
import { describeTimeFormat, matchTextPieces } from "../replay/compare-text.ts";
import type { Observations, ObservedChange, ObservedRule } from "./observations.ts";

/** Response of the emulator. Its headers are a flat list of names and values. */
interface ObservableResponse {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string | undefined;
}

/** Changes responses and webhooks of the emulator to match the observations. */
export class ObservationApplier {
  readonly observations: Observations;

  constructor(observations: Observations) {
    this.observations = observations;
  }

  #findRules(operation: string): ObservedRule[] {
    return this.observations.rules.filter((rule) => rule.operation === operation);
  }

  /** Returns the response as observed, with the rules that changed it. Returns undefined if no rule applies. */
  applyToResponse(operation: Operation, response: ObservableResponse) {
    const all = this.#findRules(operation.id);
    if (all.length === 0) return undefined;
    const document = response.body === undefined ? undefined : tryParseJson(response.body);
    const { name } = findClaim(operation, response.status, document);
    const rules = all.filter(({ claim, id }) => claim === name && id.includes(`:${response.status}:`));
    if (rules.length === 0) return undefined;
    let { status, headers, body } = response;
    for (const { path, change } of rules) {
      if (change.to === "status") status = change.status;
      else if (change.to === "header") headers = replaceHeader(headers, path.replace(/^header /, ""), change.value);
      else if (document !== undefined) body = JSON.stringify(applyChangeAt(tryParseJson(body!), path, change));
    }
    return { response: { status, headers, body }, rules };
  }

  isSilent(activity: string): boolean {
    return this.observations.rules.some(({ path, change }) => change.to === "silence" && path === activity);
  }

  amendBody(activity: string, body: string): string {
    let amended = body;
    for (const { path, change } of this.#findRules(`webhook ${activity}`))
      if (!["header", "spell", "silence"].includes(change.to))
        amended = JSON.stringify(applyChangeAt(tryParseJson(amended), path, change));
    // The spelling is that of the serializer, so it applies to the webhooks of all activities.
    const [spelling] = this.observations.rules.flatMap(({ change }) => (change.to === "spell" ? change.spelling : []));
    return formatSpelling(amended, spelling);
  }

  /** Changes the headers of a webhook, except its signature. */
  amendHeaders(activity: string, headers: Readonly<Record<string, string>>): Record<string, string> {
    const amended: Record<string, string> = { ...headers };
    for (const { path, change } of this.#findRules(`webhook ${activity}`)) {
      if (change.to !== "header") continue;
      const name = path.replace(/^header /, "");
      if (change.value === undefined) delete amended[name];
      else amended[name] = change.value;
    }
    return amended;
  }
}

function formatSpelling(text: string, spelling: string | undefined): string {
  if (spelling === undefined) return text;
  const spaced = spelling.startsWith("indented")
    ? JSON.stringify(JSON.parse(text), undefined, 2)
    : spelling.startsWith("spaced")
      ? writeJson(text, "spaced")
      : text;
  return spelling.endsWith("escaped") ? writeJson(spaced, "escaped") : spaced;
}

function replaceHeader(headers: readonly string[], name: string, value: string | undefined): string[] {
  const others = pairHeaders(headers).filter(([item]) => item.toLowerCase() !== name);
  return [...others.flat(), ...(value === undefined ? [] : [name, value])];
}

/** Returns the document with the change applied at every position that matches a path. */
function applyChangeAt(document: unknown, path: string, change: ObservedChange): unknown {
  const keys = path === "" ? [] : path.replaceAll("[]", ".[]").replace(/^\./, "").split(".");
  return changeAtKeys(document, keys, change);
}

function changeAtKeys(value: unknown, keys: readonly string[], change: ObservedChange): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return changeValue(value, change);
  if (key === "[]") return Array.isArray(value) ? value.map((item) => changeAtKeys(item, rest, change)) : value;
  if (!isObject(value)) return value;
  const isLast = rest.length === 0;
  if (isLast && change.to === "remove")
    return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
  if (!Object.hasOwn(value, key)) return isLast && change.to === "set" ? { ...value, [key]: change.value } : value;
  // Unlike an assignment, `fromEntries` preserves a key named __proto__.
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, name === key ? changeAtKeys(inner, rest, change) : inner]),
  );
}

function changeValue(value: unknown, change: ObservedChange): unknown {
  switch (change.to) {
    case "set":
      return change.value;
    case "convert":
      return convertValue(value, change.type);
    case "map": {
      const found = change.pairs.find(([from]) => JSON.stringify(from) === JSON.stringify(value));
      return found ? found[1] : value;
    }
    case "template":
      return typeof value === "string" ? fillTemplate(value, change.from, change.text) : value;
    case "order":
      return isObject(value) ? orderKeys(value, change.keys) : value;
    case "reverse":
      return Array.isArray(value) ? value.toReversed() : value;
    case "time-format":
      return typeof value === "string" ? formatTime(value, change.format) : value;
    case "shift":
      return shiftTime(value, change.ms);
    default:
      return value;
  }
}

function convertValue(value: unknown, type: "string" | "number" | "boolean" | "null"): unknown {
  if (type === "null") return null;
  if (type === "string") return value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  if (type === "boolean") return Boolean(value);
  const number = Number(value);
  return Number.isNaN(number) ? value : number;
}

function fillTemplate(value: string, from: readonly string[], text: readonly string[]): string {
  const found = matchTextPieces(value, from);
  return found ? text.map((part, at) => part + (found[at] ?? "")).join("") : value;
}

function orderKeys(value: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  const rank = new Map(keys.map((key, at) => [key, at]));
  const entries = Object.entries(value).map((entry, at) => ({ entry, rank: rank.get(entry[0]) ?? keys.length + at }));
  return Object.fromEntries(entries.sort((a, b) => a.rank - b.rank).map(({ entry }) => entry));
}

/** Formats a time by a pattern such as `9999-99-99T99:99:99.999Z`. */
function formatTime(value: string, format: string): string {
  const ms = Date.parse(value);
  if (Number.isNaN(ms)) return value;
  const [fraction = ""] = /(?<=\.)\d{1,9}/.exec(value) ?? [];
  const digits = new Date(ms).toISOString().slice(0, 19).replace(/\D/g, "") + fraction.padEnd(9, "0");
  const [local = "", zone = ""] = format.split(/(?=[+-]99:?99$)/);
  let at = 0;
  return local.replace(/9/g, () => digits[at++]!) + zone.replaceAll("9", "0");
}

function shiftTime(value: unknown, ms: number): unknown {
  if (typeof value === "number") return value + ms;
  if (typeof value !== "string" || Number.isNaN(Date.parse(value))) return value;
  return formatTime(new Date(Date.parse(value) + ms).toISOString(), describeTimeFormat(value));
}
