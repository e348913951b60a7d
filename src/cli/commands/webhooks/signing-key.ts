import { showHmacKey } from "../../../api/contracts/webhooks.ts";
import { decodeBase64 } from "../../../base/hmac.ts";
import { toFields, tryParseJson } from "../../../base/object.ts";
import { createTextFlag } from "../../../derive/command-spec.ts";
import { getDefaultScheme, type WebhookMessage } from "../../../schemes/webhook-schemes.ts";
import type { Context } from "../../command.ts";
import { readVariable, resolveServiceSettings } from "../../connection/resolve-settings.ts";
import { readText } from "../../parse/body.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { InputRequiredError, UsageError } from "../../process/failure.ts";

export const keyFlag = createTextFlag(
  "key-file",
  "FILE",
  "File with the base64 key of svc webhooks hmac-key (SVC_WEBHOOK_HMAC_KEY)",
);

type KeyOptions = CommandInputOf<readonly [typeof keyFlag]>;

/** Resolves the base64 key from a file, the environment or the emulator of this folder. It is never printed. */
export async function resolveKey(context: Context, input: KeyOptions): Promise<string | undefined> {
  const givenKey = await readGivenKey(context, input);
  if (givenKey !== undefined) return givenKey;
  const { hmacKey } = await resolveServiceSettings(context);
  if (hmacKey) await context.output.note(`Using the key from ${hmacKey.origin}`);
  return hmacKey?.value;
}

async function readGivenKey({ host }: Context, { flags }: KeyOptions): Promise<string | undefined> {
  const file = flags["key-file"];
  return file === undefined ? findKeyVariable(host) : readKeyFile(host, file, "--key-file");
}

export async function readKeyFile(host: Context["host"], file: string, flag: string): Promise<string> {
  const text = (await readText(host, file, flag)).trim();
  if (text === "") throw new UsageError(`${flag}: ${file} is empty`);
  return parseKey(text, `${flag}: ${file}`);
}

export function findKeyVariable(host: Context["host"]): string | undefined {
  const variable = readVariable(host, "SVC_WEBHOOK_HMAC_KEY");
  const text = variable?.value.trim();
  return variable && text ? parseKey(text, variable.origin) : undefined;
}

/** Parses the key from any output format of svc webhooks hmac-key. */
function parseKey(text: string, origin: string): string {
  const { hmac_key: field } = toFields([tryParseJson(text)].flat()[0]);
  const key = typeof field === "string" ? field : text.replace(/^hmac[_ ]key\s+/i, "");
  // A key with a blank or a missing character makes no valid signature.
  if (decodeBase64(key) !== undefined) return key;
  throw new UsageError(`${origin}: the key is not base64. To print it, run svc webhooks hmac-key.`);
}

export async function requireKey(context: Context, input: KeyOptions): Promise<string> {
  const key = await resolveKey(context, input);
  if (key !== undefined) return key;
  throw new InputRequiredError("key-file", "--key-file or SVC_WEBHOOK_HMAC_KEY is required", {
    hint: "To print the key of a workspace, run svc webhooks hmac-key. In the folder of a running emulator, its key is used.",
  });
}

export const findOrFetchKey = async (context: Context, input: KeyOptions): Promise<string> =>
  (await readGivenKey(context, input)) ?? fetchKey(context);

export async function fetchKey(context: Context): Promise<string> {
  const client = await context.client("contracts", { connections: 2 });
  const { hmac_key: key } = await client.call(showHmacKey);
  return key;
}

/** Creates the headers of a message by the default scheme. Throws a UsageError if the key is invalid. */
export function signMessage(message: WebhookMessage): Readonly<Record<string, string>> {
  try {
    return getDefaultScheme().sign(message);
  } catch (cause) {
    return throwKeyError(cause);
  }
}

export function throwKeyError(cause: unknown): never {
  if (!(cause instanceof TypeError)) throw cause;
  throw new UsageError("The key is not base64. To print it, run svc webhooks hmac-key.", { cause });
}
