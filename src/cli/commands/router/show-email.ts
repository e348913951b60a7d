import type { CheckedCall } from "../../../client/checked-call.ts";
import { email } from "../../bulk/input/identifiers.ts";
import type { Command } from "../../command.ts";
import { runDerived } from "../../derived.ts";
import { UsageError } from "../../failure.ts";

/** The look-up takes any string: an address that nobody hashed would be found nowhere. */
export const routerShowEmail: Command = {
  words: ["router", "show-email"],
  summary: "Show which cluster an e-mail address is mapped to, by the address or its hash",
  extendsDerived: true,
  positionals: [],
  flags: [],
  examples: [{ title: "By the address", argv: ["router", "show-email", "ada@northwind.example"] }],
  async run(input, context, spec) {
    return runDerived(spec!, input, context, { sign: hashed });
  },
};

function hashed(call: CheckedCall): CheckedCall {
  const { params } = call.args;
  const given = String(params?.email_hash).trim();
  // Anything that is no address stays what it is.
  if (email.problem(given) !== undefined && given.includes("@"))
    throw new UsageError(`"${given}" is no e-mail address`);
  return call.with({ params: { ...params, email_hash: given.includes("@") ? email.value(given) : given } });
}
