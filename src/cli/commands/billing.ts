import type { FlagSpec } from "../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { appSecrets, createSecretFlag, readAppSecret } from "../connection/profiles/secrets.ts";
import type { CommandInputOf } from "../parse/declaration.ts";
import { InputRequiredError, UsageError } from "../process/failure.ts";
import { prepareCall } from "../runtime/derived-command.ts";

const password = appSecrets.billing;

const username = {
  flag: "username",
  type: "text",
  placeholder: "NAME",
  description: "User name of the billing provider (default: that of SVC_BASIC_AUTH)",
} as const satisfies FlagSpec;

const billingEvent = defineCommand({
  words: ["billing", "event"],
  summary: "Forward a billing event to the cluster of its customer",
  extendsDerived: true,
  positionals: [],
  flags: [username, createSecretFlag(password)],
  examples: [
    {
      title: "An event from a file",
      argv: ["billing", "event", "--data", "event.json", "--username", "billing", "--password-file", "billing.secret"],
    },
  ],
  async run(input, context, spec) {
    const basic = await resolveBasicAuth(input, context);
    const prepared = await prepareCall(spec!, input, context, basic ? { credentials: { basic } } : {});
    if (prepared !== "dry-run") await prepared.send();
    return undefined;
  },
});

async function resolveBasicAuth(
  input: CommandInputOf<readonly [typeof username, ReturnType<typeof createSecretFlag<"password-file">>]>,
  context: Context,
) {
  const { username } = input.flags;
  if (username === undefined) {
    if (input.flags[password.flag] === undefined) return undefined;
    throw new UsageError(`--${password.flag} needs --username`);
  }
  const secret = await readAppSecret(password, input, context);
  if (secret === undefined)
    throw new InputRequiredError(password.flag, `--${password.flag} is required, or the password in ${password.env}`);
  return { username, password: secret };
}

export const commands: readonly Command[] = [billingEvent];
