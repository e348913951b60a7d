import { sha256 } from "@noble/hashes/sha2.js";
import { isEmailHash, toAddressKey } from "../../../base/email-address.ts";
import { type Command, defineCommand } from "../../command.ts";
import { runDerivedCommand } from "../../runtime/derived-command.ts";
import { createHashedEmailKind, hashFlag, toIdentifier } from "./bulk/identifiers.ts";

/** The look-up accepts any string, so an unhashed address would match nothing. */
const showEmail = defineCommand({
  words: ["router", "show-email"],
  summary: "Show which cluster an e-mail address or hash is mapped to",
  extendsDerived: true,
  readsDerived: { positionals: [{ name: "email_hash" }] },
  flags: [hashFlag],
  examples: [["Look up an address", "router show-email ada@northwind.example"]],
  async run(input, context, spec) {
    const text = input.positionals.email_hash.trim();
    const isIdentifier = input.flags.hash === "none" || !(text.includes("@") || isEmailHash(text));
    const email_hash = isIdentifier ? text : toIdentifier(emailKind, text);
    return runDerivedCommand(spec!, { ...input, positionals: { email_hash } }, context);
  },
});

// Loading Node's hash module, which rows of files use, would take a tenth of the whole look-up.
const emailKind = createHashedEmailKind((address) =>
  Buffer.from(sha256(Buffer.from(toAddressKey(address)))).toString("hex"),
);

export const commands: readonly Command[] = [showEmail];
