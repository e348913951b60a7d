import type { Operation } from "../../../../api/operation.ts";
import { pluralize } from "../../../../base/text.ts";
import type { CallArguments } from "../../../../client/checked-call.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import type { EmailHashing, IdentifierKind } from "./input/identifiers.ts";

/** The fields of a request in addition to the identifiers: the cluster, and others of the table. */
export type CallScope = Readonly<Record<string, string>>;

/** Determines how a row is read. */
export interface RowReading {
  readonly hash: EmailHashing;
  readonly scope: CallScope;
}

/** A kind of bulk job: how a row becomes an identifier, and a batch of identifiers a request. */
export interface BulkWork {
  /** Its command below `svc router`, such as `map-emails`. */
  readonly name: string;
  readonly action: "map" | "unmap" | "offboard";
  /** The name of one identifier, such as `e-mail`. */
  readonly noun: string;
  /** The part of the command line that names the rows. */
  readonly place: "<file>" | "--from";
  /** CSV columns or NDJSON fields that make up one row, joined by a space. Undefined for a single, selectable one. */
  readonly columns?: readonly string[];
  /** The table's name in svc router resolve; undefined if a job covers several tables. */
  readonly table?: string;
  /** Returns how the value of a row is read. */
  readonly getKind: (reading: RowReading) => IdentifierKind;
  readonly loadOperation: () => Promise<Operation>;
  readonly toArguments: (values: readonly string[], scope: CallScope) => CallArguments;
}

/** Subject of the requests, and its known counts. */
interface Outcome extends Pick<BulkWork, "action" | "noun"> {
  readonly cluster: string;
  readonly rows: number;
  /** Undefined if repeated rows were not counted. */
  readonly distinct?: number | undefined;
}

/** Describes confirmed requests. The service does not report how many identifiers a removal affected. */
export function formatOutcome({ action, noun, cluster, rows, distinct = rows }: Outcome): string {
  const what = pluralize(distinct, noun);
  const repeated = distinct < rows ? ` (${pluralize(rows, "row")}, ${rows - distinct} of them repeated)` : "";
  return action === "map"
    ? `Mapped ${what} to ${cluster}${repeated}`
    : `Requested removal of ${what} from ${cluster}${repeated}; the service confirmed it`;
}

/** Describes the unknowns of a removal. */
export const formatUnknownNote = (cluster: string): string =>
  `Identifiers that are not mapped to ${cluster} were ignored; the service does not report how many`;

/** Fails if the response is not `true`, because the work is then not confirmed. */
export function requireConfirmed(answer: unknown, { action, noun, cluster, rows }: Outcome): void {
  if (answer === true) return;
  const question = action === "map" ? `map ${pluralize(rows, noun)} to` : `remove ${pluralize(rows, noun)} from`;
  const given = JSON.stringify(answer)?.slice(0, 80) ?? "nothing";
  throw new CommandFailedError(
    "failed",
    "not_confirmed",
    `Failed to ${question} ${cluster}: the service responded with ${given}, not true.`,
    {
      hint: "The outcome is unknown. Check it before you retry.",
    },
  );
}
