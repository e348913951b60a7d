import { Kept, type KeptAmount, textBytes } from "../../http/kept.ts";

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

/**
 * A row as it is kept: its headers and its body as a text each. Dozens of small texts would hold three times as much, and
 * the bytes of a body all that came with them in one piece.
 */
interface PackedRow extends Omit<InboxRow, "rawHeaders" | "body"> {
  /** Name and value by turns, a line each: no header holds the end of one. */
  readonly head: string;
  /** A character for each byte. */
  readonly body: string;
}

/** What a row holds beside its texts: an estimate. */
const rowBytes = 120;

/** What the router forwarded to one emulated cluster: in memory, the oldest dropped first. */
export class Inbox {
  readonly #kept: Kept<PackedRow>;
  readonly #hideSecrets: (text: string) => string;
  #lastId = 0;

  /** `hideSecrets`: takes out of a text what nobody may see who reads the inbox. */
  constructor(maxBytes: number, hideSecrets = (text: string) => text) {
    this.#kept = new Kept(maxBytes);
    this.#hideSecrets = hideSecrets;
  }

  add({ target, rawHeaders, body, ...rest }: Omit<InboxRow, "id">): void {
    this.#lastId += 1;
    const row = {
      ...rest,
      id: this.#lastId,
      target: this.#hideSecrets(target),
      head: rawHeaders.map(this.#hideSecrets).join("\n"),
      body: this.#hideSecrets(body.toString("latin1")),
    };
    this.#kept.add(row, rowBytes + textBytes(row.target) + textBytes(row.head) + textBytes(row.body));
  }

  get amount(): KeptAmount {
    return this.#kept.amount;
  }

  /** Oldest first. */
  list(): readonly InboxRow[] {
    return this.#kept
      .list()
      .map(({ head, body, ...rest }) => ({ ...rest, rawHeaders: head.split("\n"), body: Buffer.from(body, "latin1") }));
  }

  /** Ids begin again from 1. */
  clear(): void {
    this.#kept.clear();
    this.#lastId = 0;
  }
}
