import type { Context } from "../../command.ts";
import { escapeControlCharacters } from "../../output/control-characters.ts";
import { type StyledLine, stripStyles } from "../../output/styled.ts";
import { measureWidth } from "../../output/width.ts";
import { write } from "../../output/write.ts";
import { defaultColumns, readWindowWidth } from "../../terminal/window-width.ts";

const separator = " | ";

/** A list that grows, and below it, where there is a terminal, one line that says how things are. */
export class Screen {
  readonly #context: Context;
  readonly #hasStatus: boolean;
  #parts: readonly string[] = [];
  /** What is drawn at present. */
  #drawn = "";
  #last = "";
  #queue: Promise<void> = Promise.resolve();

  constructor(context: Context, hasStatus: boolean) {
    this.#context = context;
    this.#hasStatus = hasStatus;
    if (!hasStatus) return;
    const { stderr } = context.host;
    const redraw = () => void this.#enqueue(async () => {});
    stderr.on("resize", redraw);
    context.atEnd(async () => {
      stderr.off("resize", redraw);
      await this.setStatus([]);
    });
  }

  /** Adds lines to the list. */
  print(...lines: readonly StyledLine[]): Promise<void> {
    return this.#enqueue(() => this.#context.output.print(...lines));
  }

  /**
   * Says what has happened to the session, but not twice in a row: several parts of it may notice the same thing. Programs
   * get documents on standard output, and this on standard error.
   */
  notice(line: StyledLine): Promise<void> {
    const text = stripStyles(line);
    if (text === this.#last) return this.#queue;
    this.#last = text;
    return this.#context.output.format === "table" ? this.print(line) : this.#context.output.warn(line);
  }

  /** Replaces the status line. Of these parts, the first are shown in a narrow window. */
  setStatus(parts: readonly string[]): Promise<void> {
    if (!this.#hasStatus) return Promise.resolve();
    this.#parts = parts;
    return this.#enqueue(async () => {});
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(async () => {
      await this.#erase();
      await work();
      await this.#draw();
    });
    this.#queue = done.catch(() => {});
    return done;
  }

  /** A window that became narrower shows the line on several rows. */
  async #erase(): Promise<void> {
    if (this.#drawn === "") return;
    const above = Math.ceil(measureWidth(this.#drawn) / this.#columns) - 1;
    this.#drawn = "";
    await write(this.#context.host.stderr, `${above > 0 ? `\x1b[${above}A` : ""}\r\x1b[J`);
  }

  async #draw(): Promise<void> {
    this.#drawn = fitParts(this.#parts, this.#columns - 1);
    if (this.#drawn !== "") await write(this.#context.host.stderr, this.#drawn);
  }

  get #columns(): number {
    const { stderr, env } = this.#context.host;
    return readWindowWidth(stderr, env) ?? defaultColumns;
  }
}

/** As many parts as fit, without those that do not. */
export function fitParts(parts: readonly string[], columns: number): string {
  let line = "";
  for (const part of parts.map(escapeControlCharacters)) {
    const longer = line === "" ? part : `${line}${separator}${part}`;
    if (measureWidth(longer) <= columns) line = longer;
  }
  return line;
}
