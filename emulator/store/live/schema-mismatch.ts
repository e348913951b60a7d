import { StateRefused } from "../port.ts";

/** A row that does not fit its collection. No damage where a checksum fits: then it is a bug, or a file that is not ours. */
export class SchemaMismatch extends StateRefused {
  constructor(message: string, cause?: unknown) {
    super(message, { cause, repairable: false });
  }
}
