import { fieldsOf } from "../../../base/object.ts";
import { NetworkError, ServiceError } from "../../../client/errors.ts";
import type { CommandSpec, FlagSpec } from "../../../derive/command-spec.ts";
import type { Context } from "../../command.ts";
import type { PreparedCall } from "../../derived-command.ts";
import { PartialFailureError, UsageError } from "../../failure.ts";

export const idempotentFlag = {
  flag: "idempotent",
  type: "switch",
  description: "Show the contract with this external_metadata.id if it exists",
} as const satisfies FlagSpec;

/** Shows the contract that the request would make twice; false: there is none. */
export async function showExisting(
  { call, client }: PreparedCall,
  spec: CommandSpec,
  { output, signal }: Context,
): Promise<boolean> {
  const { id } = fieldsOf(fieldsOf(call.args.body).external_metadata);
  if (typeof id !== "string" || id === "") {
    throw new UsageError("--idempotent requires external_metadata.id", {
      hint: "Set it to the ID of the record in your system: --set external_metadata.id=ID",
    });
  }
  const { findByExternalMetadata } = await import("../../../api/contracts/external-metadata.ts");
  const params = { external_metadata_id: id };
  const found = await client.call(findByExternalMetadata, { params }, { signal }).catch((error: unknown) => {
    // No public document says how the service answers where there is none.
    if (error instanceof ServiceError && error.status === 404) return [];
    throw error;
  });
  const [newest] = found;
  if (newest === undefined) return false;
  await output.show(newest, { fields: spec.fields });
  const others = found.length === 1 ? "" : `, and ${found.length - 1} more have`;
  await output.note(`${newest.id} already has external_metadata.id ${id}${others}. Nothing was created.`);
  return true;
}

/** After an outcome that is unknown, the same request must not be repeated as it is: says how to repeat it. */
export function addSafeRepeat(error: unknown): unknown {
  const isOfCall = error instanceof NetworkError || error instanceof ServiceError;
  if (!isOfCall || !error.outcomeUnknown) return error;
  const hint =
    "The request may have taken effect. To repeat it safely, use --idempotent, which looks up external_metadata.id first.";
  return new PartialFailureError(error, [], { hint });
}
