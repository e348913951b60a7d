import { sha256 } from "@noble/hashes/sha2.js";
import { addressKey } from "../../../schemes/email-hash.ts";
import { email } from "../../bulk/input/identifiers.ts";
import type { Command } from "../../command.ts";
import { runDerived } from "../../derived.ts";
import { UsageError } from "../../failure.ts";

/** The look-up takes any string: an address that nobody hashed would be found nowhere. */
const showEmail: Command = {
  words: ["router", "show-email"],
  summary: "Show which cluster an e-mail address or hash is mapped to",
  extendsDerived: true,
  positionals: [],
  flags: [],
  examples: [{ title: "By the address", argv: ["router", "show-email", "ada@northwind.example"] }],
  async run(input, context, spec) {
    const given = String(input.positionals.email_hash).trim();
    return runDerived(spec!, { ...input, positionals: { email_hash: hashed(given) } }, context);
  },
};

export const commands = [showEmail];

function hashed(given: string): string {
  // Anything that is no address stays what it is.
  if (!given.includes("@")) return given;
  if (email.problem(given) !== undefined) throw new UsageError(`"${given}" is no e-mail address`);
  // Not by Node's own module, as rows of files are: to load that takes a tenth of the whole look-up.
  return Buffer.from(sha256(Buffer.from(addressKey(given)))).toString("hex");
}
