import type { Operation } from "../../../../api/operation.ts";
import { pluralize } from "../../../../base/text.ts";
import type { CallArguments } from "../../../../client/checked-call.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import type { EmailHashing, IdentifierKind } from "./input/identifiers.ts";

/** The fields of a call next to the identifiers: the cluster, and what else the table needs. */
export type CallScope = Readonly<Record<string, string>>;

/** Decides the meaning of a row. */
export interface RowReading {
  readonly hash: EmailHashing;
  readonly scope: CallScope;
}

/** A kind of bulk job: how a row becomes an identifier, and a batch of identifiers one call. */
export interface BulkWork {
  /** Its command below `svc router`: `map-emails`. */
  readonly name: string;
  readonly action: "map" | "unmap" | "offboard";
  /** The name of one identifier: `e-mail`. */
  readonly noun: string;
  /** Part of the command line that names its rows. */
  readonly place: "<file>" | "--from";
  /** Columns of CSV or fields of NDJSON that make up one row, joined by a space. Undefined: one, which may be chosen. */
  readonly columns?: readonly string[];
  /** Name in svc router resolve of the table of its identifiers; undefined if a job has those of several. */
  readonly table?: string;
  /** Meaning of the value of a row. */
  readonly getKind: (reading: RowReading) => IdentifierKind;
  readonly loadOperation: () => Promise<Operation>;
  readonly toArguments: (values: readonly string[], scope: CallScope) => CallArguments;
}

/** Subject of the calls, and what is known of it. */
interface Outcome extends Pick<BulkWork, "action" | "noun"> {
  readonly cluster: string;
  readonly rows: number;
  /** Undefined if repeated rows were not counted. */
  readonly distinct?: number | undefined;
}

/** Results of confirmed calls. For a removal the service does not return how many there were to remove. */
export function formatOutcome({ action, noun, cluster, rows, distinct = rows }: Outcome): string {
  const what = pluralize(distinct, noun);
  const repeated = distinct < rows ? ` (${pluralize(rows, "row")}, ${rows - distinct} of them repeated)` : "";
  return action === "map"
    ? `Mapped ${what} to ${cluster}${repeated}`
    : `Requested removal of ${what} from ${cluster}${repeated}; the service confirmed it`;
}

/** Open questions of a removal. */
export const formatUnknownNote = (cluster: string): string =>
  `Identifiers that are not mapped to ${cluster} were ignored; the service does not report how many`;

/** Fails if the service has answered anything but true: its work is not known to be done. */
export function requireConfirmed(answer: unknown, { action, noun, cluster, rows }: Outcome): void {
  if (answer === true) return;
  const asked = action === "map" ? `map ${pluralize(rows, noun)} to` : `remove ${pluralize(rows, noun)} from`;
  const given = JSON.stringify(answer)?.slice(0, 80) ?? "nothing";
  throw new CommandFailedError(
    "failed",
    "not_confirmed",
    `Failed to ${asked} ${cluster}: the service responded with ${given}, not true.`,
    {
      hint: "The outcome is unknown. Check it before you retry.",
    },
  );
}
