import { pluralize } from "../../base/pluralize.ts";
import { CommandFailedError } from "../failure.ts";
import type { BulkWork } from "./work.ts";

/** What calls were about, and what is known of it. */
interface Outcome extends Pick<BulkWork, "action" | "noun"> {
  readonly cluster: string;
  readonly rows: number;
  /** Undefined where repeated rows were not counted. */
  readonly distinct?: number | undefined;
}

/** What calls that the service has confirmed came to. Of a removal it does not say how many there were to remove. */
export function formatOutcome({ action, noun, cluster, rows, distinct = rows }: Outcome): string {
  const what = pluralize(distinct, noun);
  const repeated = distinct < rows ? ` (${pluralize(rows, "row")}, ${rows - distinct} of them repeated)` : "";
  return action === "map"
    ? `Mapped ${what} to ${cluster}${repeated}`
    : `Requested removal of ${what} from ${cluster}${repeated}; the service confirmed it`;
}

/** What a removal leaves open. */
export const unknownNote = (cluster: string): string =>
  `Identifiers that are not mapped to ${cluster} were ignored; the service does not report how many`;

/** Fails where the service has answered anything but true: what it was asked for is not known to be done. */
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
