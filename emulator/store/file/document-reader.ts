import { svcVersion } from "../../../src/base/version.ts";
import type { MappingTable } from "../live/mapping-table.ts";
import { State } from "../live/state.ts";
import { currentVersions, SchemaMismatchError, Upgrade } from "../live/versions.ts";
import { type Collection, StateFormatError } from "../port.ts";
import { addOwnRow, addRow, addSequence, parseVersions, requireFormat, requireObject } from "./document.ts";

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
 * Reads what `documentSlices` wrote, whole lines at a time, without ever holding the document as one string. It reads
 * the document by its lines: one row per line, tables closed by a line that begins with a bracket. On anything else it
 * fails with StateFormatError, `line` is its line, and `state` holds everything before it.
 */
export class DocumentReader {
  readonly state: State;
  /** The members before the sections, such as the format and the generation. */
  readonly head: Record<string, unknown> = Object.create(null);
  /** The line that is read next, from 1. */
  line = 1;
  #section: Section = "start";
  #upgrade: Upgrade | undefined;
  /** The svc that wrote it, as far as that can be seen before the form of the head is known. */
  #writer: string | undefined;

  readonly #isSealed: boolean;

  /** `isSealed`: a checksum proves that it is as it was written, so that rows of this very version need no check. */
  constructor(collections: readonly Collection[], { isSealed = false } = {}) {
    this.state = new State(collections);
    this.#isSealed = isSealed;
  }

  /** From the versions that the head names; also for data that is read after the document. */
  get upgrade(): Upgrade {
    return this.#upgrade ?? currentVersions(this.state.collections);
  }

  /** True once the sections are closed: the rest is the container's. */
  get ended(): boolean {
    return this.#section === "end";
  }

  /** Takes whole lines. Returns how many characters it took: fewer than all when the document has ended in them. */
  feed(text: string): number {
    let at = 0;
    if (this.#section === "start") this.#writer = /^"written_by": "(.+)"/m.exec(text.slice(0, 4_096))?.[1];
    while (at < text.length && this.#section !== "end") {
      if (typeof this.#section === "object") at = this.#table(text, at, this.#section);
      else at = this.#single(text, at, this.#section);
    }
    return at;
  }

  #table(text: string, at: number, table: Exclude<Section, string>): number {
    const close = "rows" in table ? "]" : "}";
    if (text.startsWith(close, at)) {
      this.#section = "rows" in table ? "rows" : "mappings";
      this.line += 1;
      return lineEnd(text, at);
    }
    const found = text.indexOf(`\n${close}`, at);
    const end = found === -1 ? text.length : found + 1;
    const body = text.slice(at, end);
    if ("rows" in table) this.#rows(body, table.rows);
    else this.#owners(body, table.mapping);
    return end;
  }

  #rows(body: string, collection: string): void {
    const upgrade = this.upgrade;
    const isOwn = this.#isSealed && this.#writer === svcVersion && !upgrade.needed;
    for (const row of this.#parse(body, (lines) => `[${lines}]`)) {
      if (isOwn) addOwnRow(this.state, collection, row, "The value");
      else addRow(this.state, upgrade, collection, row, "The value");
      this.line += 1;
    }
  }

  #owners(body: string, table: MappingTable): void {
    // A key and its value are separated by `":"`, which cannot be in a key: a quote in a key follows a backslash. So
    // the lines become one flat list of strings, which the engine parses several times faster than an object.
    const pairs = this.#parse(body, (lines) => `[${lines.replaceAll('":"', '","')}]`);
    if (pairs.length % 2 === 1 || !pairs.every((part) => typeof part === "string")) {
      throw new StateFormatError("an identifier has no cluster");
    }
    table.load(pairs);
    this.line += pairs.length / 2;
  }

  /**
   * Parses lines in one go; when that fails, one by one, so that `line` is right and the valid ones are handed over.
   */
  #parse(body: string, wrap: (lines: string) => string): unknown[] {
    try {
      return JSON.parse(wrap(withoutComma(body)));
    } catch (cause) {
      const lines = body.split("\n").filter((line) => line !== "");
      if (lines.length <= 1) throw damaged(cause);
      for (const line of lines) {
        // The recursion ends at single lines; one of them throws.
        if (typeof this.#section === "object") this.#table(`${line}\n`, 0, this.#section);
      }
      throw new StateFormatError("these lines do not belong together", { cause });
    }
  }

  #single(text: string, at: number, section: Exclude<Section, object>): number {
    const end = lineEnd(text, at);
    this.#take(text.slice(at, end).trimEnd(), section);
    this.line += 1;
    return end;
  }

  #take(line: string, section: Exclude<Section, object>): void {
    if (section === "start" && line === "{") {
      this.#section = "version";
      return;
    }
    if ((section === "rows" || section === "mappings") && /^\},?$/.test(line)) {
      this.#section = section === "rows" ? "sections" : "end";
      return;
    }
    const [, quoted, value] = /^("(?:[^"\\]|\\.)*"): (.+?),?$/.exec(line) ?? [];
    if (quoted === undefined || value === undefined) throw damaged();
    this.#member(String(parsed(quoted)), value, section);
  }

  #member(name: string, value: string, section: Exclude<Section, object>): void {
    if (section === "version" && name === "svc_state") {
      this.head[name] = parsed(value);
      requireFormat(this.head[name], this.#writer);
      this.#section = "head";
    } else if (section === "head" && name === "sequences") {
      this.#endHead();
      for (const [sequence, last] of Object.entries(requireObject(parsed(value), "The value"))) {
        addSequence(this.state, sequence, last);
      }
      this.#section = "sections";
    } else if (section === "head" && !Object.hasOwn(this.head, name)) {
      this.head[name] = parsed(value);
    } else if (section === "sections" && value === "{" && (name === "rows" || name === "mappings")) {
      this.#section = name;
    } else if (section === "rows" && value === "[") {
      if (!this.state.rows.has(name)) throw unknown("collection", name);
      this.#section = { rows: name };
    } else if (section === "mappings" && value === "{") {
      const mapping = this.state.mappings.get(name);
      if (mapping === undefined) throw unknown("mapping table", name);
      this.#section = { mapping };
    } else {
      throw damaged();
    }
  }

  #endHead(): void {
    const versions = parseVersions(this.head.collections);
    this.#upgrade = new Upgrade({ by: this.#writer, versions }, this.state.collections);
  }
}

const damaged = (cause?: unknown): StateFormatError => new StateFormatError("the line is damaged", { cause });

const unknown = (what: string, name: string): SchemaMismatchError =>
  new SchemaMismatchError(`this version of svc has no ${what} ${name}`);

function lineEnd(text: string, at: number): number {
  const newline = text.indexOf("\n", at);
  return newline === -1 ? text.length : newline + 1;
}

function withoutComma(lines: string): string {
  const end = lines.endsWith("\n") ? lines.length - 1 : lines.length;
  return lines.slice(0, lines.charAt(end - 1) === "," ? end - 1 : end);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw damaged(cause);
  }
}
