import type { Operation } from "../../api/operation.ts";
import type { CallArguments } from "../../client/checked-call.ts";
import type { EmailHashing, IdentifierKind } from "./input/identifiers.ts";

/** The fields of a call beside the identifiers: the cluster, and what else the table needs. */
export type CallScope = Readonly<Record<string, string>>;

/** What decides what a row means. */
export interface RowReading {
  readonly hash: EmailHashing;
  readonly scope: CallScope;
}

/** A kind of bulk job: how a row becomes an identifier, and a batch of identifiers one call. */
export interface BulkWork {
  /** Its command below `svc router`: `map-emails`. */
  readonly name: string;
  readonly action: "map" | "unmap" | "offboard";
  /** What one identifier is called: `e-mail`. */
  readonly noun: string;
  /** Where the command line names its rows. */
  readonly place: "<file>" | "--from";
  /** Columns of CSV or fields of NDJSON that make up one row, joined by a space. Undefined: one, which may be chosen. */
  readonly columns?: readonly string[];
  /** What svc router resolve calls the table of its identifiers; undefined where a job has those of several. */
  readonly table?: string;
  /** What the text of a row is. */
  readonly kind: (reading: RowReading) => IdentifierKind;
  readonly operation: () => Promise<Operation>;
  readonly call: (values: readonly string[], scope: CallScope) => CallArguments;
}
