import { lookupTable } from "../../base/lookup-table.ts";
import { ServiceError } from "../../client/errors.ts";
import type { Input } from "../command.ts";
import { PartialFailure } from "../failure.ts";

/** What leads out of a status in which a contract cannot be signed, declined or sent. */
const outOf = lookupTable<readonly string[]>({
  DRAFT: ["contracts", "send"],
  ON_HOLD: ["emulator", "resume"],
});

/** The lists of what fields of a body name. */
const listsOf = lookupTable<readonly string[]>({
  contract_template_id: ["contracts", "templates", "list"],
  contract_type_id: ["contracts", "types", "list"],
});

/** Adds the command that helps to a refusal of the service that names a status, or an id that it does not know. */
export function withNextMove(error: unknown, { positionals }: Input): unknown {
  if (!(error instanceof ServiceError) || error.status !== 400 || error.problem.hint !== undefined) return error;
  const { message } = error.problem;
  const [, status = "", done] = /^A contract in status (\w+) cannot be (signed|declined|sent)/.exec(message) ?? [];
  const [, field = ""] = /^(\w+): Invalid pk /.exec(message) ?? [];
  const id = String(positionals.id ?? positionals.composite_id ?? "");
  const move = id === "" || (status === "DRAFT" && done === "sent") ? undefined : outOf[status];
  const next = move ? [...move, /^\d+$/.test(id) ? `T-${id}` : id] : listsOf[field];
  return next === undefined ? error : new PartialFailure(error, [], { next });
}
