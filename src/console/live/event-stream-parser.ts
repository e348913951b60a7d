/** Takes the data out of the text of a stream of server-sent events, as it comes in pieces. */
export class EventStreamParser {
  #rest = "";
  #data: string[] = [];

  /** The events that are whole after this piece. */
  push(piece: string): unknown[] {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    const out: unknown[] = [];
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line.startsWith("data:")) this.#data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
      if (line !== "" || this.#data.length === 0) continue;
      out.push(JSON.parse(this.#data.join("\n")));
      this.#data = [];
    }
    return out;
  }
}
