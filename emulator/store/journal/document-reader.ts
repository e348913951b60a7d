import { svcVersion } from "../../../src/base/version.ts";
import type { MappingTable } from "../live/mapping-table.ts";
import { State } from "../live/state.ts";
import { listVersions, SchemaMismatchError, Upgrade } from "../live/versions.ts";
import { type Collection, StateFormatError } from "../port.ts";
import { addRow, addSequence, parseVersions, requireFormat, requireObject } from "./document.ts";

type Section =
  | "start"
  | "version"
  | "head"
  | "sections"
  | "rows"
  | "mappings"
  | "end"
  | { readonly rows: string }
  | { readonly mapping: MappingTable };

/**
 * Reads a document by whole lines without storing it as one string. It expects one row per line, and tables that end
 * with a line that starts with a bracket. On any other input it fails with StateFormatError: `line` is the line of the
 * error, and `state` contains everything before it.
 */
export class DocumentReader {
  readonly state: State;
  /** The members before the sections, such as the format and the generation. */
  readonly head: Record<string, unknown> = Object.create(null);
  line = 1;
  /** The upgrade from the versions that the head names. It also applies to data that is read after the document. */
  upgrade: Upgrade;
  #section: Section = "start";
  /** The version of svc that wrote the document, if it is known before the head is parsed. */
  #writer: string | undefined;
  readonly #isSealed: boolean;

  /**
   * With `isSealed`, a checksum proves that the document is unchanged, so rows of the current version need no check.
   */
  constructor(collections: readonly Collection[], { isSealed = false } = {}) {
    this.state = new State(collections);
    this.upgrade = new Upgrade(listVersions(collections), collections);
    this.#isSealed = isSealed;
  }

  /** True after the sections are closed. The remaining text belongs to the container. */
  get hasEnded(): boolean {
    return this.#section === "end";
  }

  /** Adds the present line to a StateFormatError. `prefix` comes before it. Returns other errors unchanged. */
  locateError(error: unknown, prefix = ""): unknown {
    if (!(error instanceof StateFormatError)) return error;
    const { message, repairable } = error;
    return new StateFormatError(`${prefix}line ${this.line}: ${message}`, { cause: error, repairable });
  }

  /**
   * Reads whole lines. Returns the number of characters that were read, which is smaller than the length of the text if
   * the document ends in it.
   */
  feed(text: string): number {
    let index = 0;
    if (this.#section === "start") this.#writer = /^"written_by": "(.+)"/m.exec(text.slice(0, 4_096))?.[1];
    while (index < text.length && this.#section !== "end") {
      if (typeof this.#section === "object") index = this.#readTable(text, index, this.#section);
      else index = this.#readSingle(text, index, this.#section);
    }
    return index;
  }

  #readTable(text: string, at: number, table: Exclude<Section, string>): number {
    const close = "rows" in table ? "]" : "}";
    if (text.startsWith(close, at)) {
      this.#section = "rows" in table ? "rows" : "mappings";
      this.line += 1;
      return findLineEnd(text, at);
    }
    const closeIndex = text.indexOf(`\n${close}`, at);
    const end = closeIndex === -1 ? text.length : closeIndex + 1;
    const body = text.slice(at, end);
    if ("rows" in table) this.#readRows(body, table.rows);
    else this.#readOwners(body, table.mapping);
    return end;
  }

  #readRows(body: string, collection: string): void {
    const isTrusted = this.#isSealed && this.#writer === svcVersion && !this.upgrade.isNeeded;
    for (const row of this.#parse(body, (lines) => `[${lines}]`)) {
      addRow(this.state, this.upgrade, collection, row, "The value", isTrusted);
      this.line += 1;
    }
  }

  #readOwners(body: string, table: MappingTable): void {
    // A key and its value are separated by `":"`, which cannot occur in a key, because a quote in a key follows a
    // backslash. So the lines become one flat list of strings, which parses faster than an object.
    const pairs = this.#parse(body, (lines) => `[${lines.replaceAll('":"', '","')}]`);
    if (pairs.length % 2 === 1 || !pairs.every((part) => typeof part === "string")) {
      throw new StateFormatError("an identifier has no cluster");
    }
    for (let i = 0; i < pairs.length; i += 2) table.set(pairs[i] as string, pairs[i + 1] as string);
    this.line += pairs.length / 2;
  }

  /**
   * Parses lines together. If that fails, parses them one by one, so that `line` is correct and valid lines are
   * retained.
   */
  #parse(body: string, wrap: (lines: string) => string): unknown[] {
    try {
      return JSON.parse(wrap(stripComma(body)));
    } catch (cause) {
      const lines = body.split("\n").filter((line) => line !== "");
      if (lines.length <= 1) throw createDamageError(cause);
      for (const line of lines) {
        // The recursion ends at single lines. One of them throws.
        if (typeof this.#section === "object") this.#readTable(`${line}\n`, 0, this.#section);
      }
      throw new StateFormatError("these lines do not belong together", { cause });
    }
  }

  #readSingle(text: string, at: number, section: Exclude<Section, object>): number {
    const end = findLineEnd(text, at);
    const line = text.slice(at, end).trimEnd();
    if (section === "start" && line === "{") this.#section = "version";
    else if ((section === "rows" || section === "mappings") && /^\},?$/.test(line)) {
      this.#section = section === "rows" ? "sections" : "end";
    } else {
      const [, quoted, value] = /^("(?:[^"\\]|\\.)*"): (.+?),?$/.exec(line) ?? [];
      if (quoted === undefined || value === undefined) throw createDamageError();
      this.#readMember(String(parseJson(quoted)), value, section);
    }
    this.line += 1;
    return end;
  }

  #readMember(name: string, value: string, section: Exclude<Section, object>): void {
    if (section === "version" && name === "svc_state") {
      this.head[name] = parseJson(value);
      requireFormat(this.head[name], this.#writer);
      this.#section = "head";
    } else if (section === "head" && name === "sequences") {
      this.upgrade = new Upgrade(parseVersions(this.head.collections), this.state.collections, this.#writer);
      for (const [sequence, last] of Object.entries(requireObject(parseJson(value), "The value"))) {
        addSequence(this.state, sequence, last);
      }
      this.#section = "sections";
    } else if (section === "head" && !Object.hasOwn(this.head, name)) {
      this.head[name] = parseJson(value);
    } else if (section === "sections" && value === "{" && (name === "rows" || name === "mappings")) {
      this.#section = name;
    } else if (section === "rows" && value === "[") {
      if (!this.state.rows.has(name)) throw createUnknownError("collection", name);
      this.#section = { rows: name };
    } else if (section === "mappings" && value === "{") {
      const mapping = this.state.mappings.get(name);
      if (mapping === undefined) throw createUnknownError("mapping table", name);
      this.#section = { mapping };
    } else {
      throw createDamageError();
    }
  }
}

const createDamageError = (cause?: unknown): StateFormatError => new StateFormatError("the line is damaged", { cause });

const createUnknownError = (kind: string, name: string): SchemaMismatchError =>
  new SchemaMismatchError(`this version of svc has no ${kind} ${name}`);

function findLineEnd(text: string, at: number): number {
  const newline = text.indexOf("\n", at);
  return newline === -1 ? text.length : newline + 1;
}

function stripComma(lines: string): string {
  const end = lines.endsWith("\n") ? lines.length - 1 : lines.length;
  return lines.slice(0, lines.charAt(end - 1) === "," ? end - 1 : end);
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw createDamageError(cause);
  }
}
