import { createTextFlag } from "../../../derive/command-spec.ts";
import type { Context } from "../../command.ts";
import { readText } from "../../parse/body.ts";
import type { CommandInput } from "../../parse/declaration.ts";
import { UsageError } from "../../process/failure.ts";
import { readVariable } from "../resolve-settings.ts";

/** Secret of a connected app. A file or the environment provides it, never the command line. */
export interface SecretSource<Flag extends string = string> {
  readonly flag: Flag;
  readonly env: string;
  readonly label: string;
}

export const appSecrets = {
  chatA: { flag: "signing-secret-file", env: "SVC_CHAT_A_SIGNING_SECRET", label: "the app's signing secret" },
  chatB: { flag: "token-file", env: "SVC_CHAT_B_TOKEN", label: "a bot-framework token" },
  crmA: { flag: "client-secret-file", env: "SVC_CRM_A_CLIENT_SECRET", label: "the app's client secret" },
  crmB: { flag: "consumer-secret-file", env: "SVC_CRM_B_CONSUMER_SECRET", label: "the app's consumer secret" },
  billing: { flag: "password-file", env: "SVC_BILLING_PASSWORD", label: "the provider's password" },
} as const satisfies Record<string, SecretSource>;

export const createSecretFlag = <Flag extends string>({ flag, env, label: what }: SecretSource<Flag>) =>
  createTextFlag(flag, "FILE|-", `File with ${what}; or set ${env}`);

/** Reads the secret without its trailing line break. Returns undefined without a file or variable. */
export async function readAppSecret(
  { flag, env, label: what }: SecretSource,
  input: CommandInput,
  { host }: Context,
): Promise<string | undefined> {
  const path = input.flags[flag];
  if (typeof path !== "string") return readVariable(host, env)?.value;
  if (path === "-" && input.flags.file === "-") {
    throw new UsageError(`--${flag} - cannot be used with --file -`);
  }
  return readSecret(host, path, `--${flag}`, what);
}

/** Reads the single line of a file or of standard input, without its line break. */
export async function readSecret(host: Context["host"], path: string, flag: string, label: string): Promise<string> {
  const secret = (await readText(host, path, flag)).replace(/\r?\n$/, "");
  if (secret === "") throw new UsageError(`${flag}: the file is empty, expected ${label}`);
  if (/[\r\n]/.test(secret)) throw new UsageError(`${flag} must be a single line`);
  return secret;
}
