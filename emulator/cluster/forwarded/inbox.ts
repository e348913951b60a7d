/** A forwarded request as it reached an emulated cluster. */
export interface InboxRow {
  readonly id: number;
  /** Virtual milliseconds. */
  readonly at: number;
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly status: number;
}

const overheadBytes = 400;

/** What the router forwarded to one emulated cluster: in memory, the oldest dropped first. */
export class Inbox {
  readonly #maxBytes: number;
  #rows: InboxRow[] = [];
  #bytes = 0;
  #lastId = 0;

  constructor(maxBytes = 16 * 1024 * 1024) {
    this.#maxBytes = maxBytes;
  }

  add(row: Omit<InboxRow, "id">): void {
    this.#lastId += 1;
    this.#rows.push({ id: this.#lastId, ...row });
    this.#bytes += weight(row);
    while (this.#bytes > this.#maxBytes && this.#rows.length > 1) this.#bytes -= weight(this.#rows.shift()!);
  }

  /** Oldest first. */
  list(): readonly InboxRow[] {
    return this.#rows;
  }

  /** Ids begin again from 1. */
  clear(): void {
    this.#rows = [];
    this.#bytes = 0;
    this.#lastId = 0;
  }
}

const weight = ({ body, target, rawHeaders }: Omit<InboxRow, "id">): number =>
  overheadBytes + body.length + target.length + rawHeaders.reduce((sum, text) => sum + text.length, 0);
