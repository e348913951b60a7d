import type { TypedFlag } from "../../derive/command-flags.ts";
import type { FlagSpec } from "../../derive/command-spec.ts";
import { signCrmB } from "../../schemes/crm-b.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { appSecrets, createSecretFlag, readAppSecret } from "../connection/profiles/secrets.ts";
import { readText } from "../parse/body.ts";
import type { CommandInputOf } from "../parse/declaration.ts";
import { InputRequiredError, UsageError } from "../process/failure.ts";
import { prepareCall } from "../runtime/derived-command.ts";

const consumerSecret = appSecrets.crmB;

const envelope = {
  flag: "envelope",
  type: "text",
  placeholder: "FILE|-",
  description: "JSON envelope to sign and send (default: an empty context)",
} as const satisfies FlagSpec;
const signedRequest = { flag: "signed-request", type: "text" } as const satisfies TypedFlag;

const crmBOpen = defineCommand({
  words: ["crm-b", "open"],
  summary: "Open the canvas app with a signed request",
  description: "Signs an envelope with the app's consumer secret, as the CRM does.",
  extendsDerived: true,
  readsDerived: { flags: [signedRequest] },
  bodyFrom: ["envelope", "consumer-secret-file"],
  positionals: [],
  flags: [createSecretFlag(consumerSecret), envelope],
  examples: [
    {
      title: "Sign an envelope",
      argv: ["crm-b", "open", "--envelope", "envelope.json", "--consumer-secret-file", "crm-b.secret"],
    },
  ],
  async run(input, context, spec) {
    const signed = await createRequest(input, context);
    const flags = signed === undefined ? input.flags : { ...input.flags, "signed-request": signed };
    const prepared = await prepareCall(spec!, { ...input, flags }, context);
    if (prepared !== "dry-run") await prepared.send();
    return undefined;
  },
});

async function createRequest(
  input: CommandInputOf<readonly [typeof envelope, typeof signedRequest]>,
  context: Context,
): Promise<string | undefined> {
  const { envelope } = input.flags;
  if (input.flags["signed-request"] !== undefined) {
    if (envelope === undefined) return undefined;
    throw new UsageError("--envelope cannot be used with --signed-request");
  }
  const secret = await readAppSecret(consumerSecret, input, context);
  if (secret === undefined) {
    if (envelope === undefined) return undefined;
    throw new InputRequiredError(
      consumerSecret.flag,
      `--${consumerSecret.flag} is required, or the secret in ${consumerSecret.env}`,
    );
  }
  const text =
    envelope === undefined
      ? '{"algorithm":"HMACSHA256","context":{}}'
      : await readText(context.host, envelope, "--envelope");
  if (text === "") throw new UsageError(`--envelope: ${envelope} is empty, expected a JSON document`);
  return signCrmB(secret, text);
}

export const commands: readonly Command[] = [crmBOpen];
