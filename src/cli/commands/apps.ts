import { mintChatBToken } from "../../api/emulator/chat-b.ts";
import { checkReadiness } from "../../api/emulator/lifecycle.ts";
import { toFields, tryParseJson } from "../../base/object.ts";
import { buildRequest } from "../../client/request.ts";
import { createSwitch, createTextFlag } from "../../derive/command-spec.ts";
import { signChatA, signCrmA, signCrmB } from "../../schemes/connected-apps.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { readVariable } from "../connection/resolve-settings.ts";
import { isEmulator } from "../connection/target.ts";
import { readSecret, readText } from "../parse/body.ts";
import type { CommandInput } from "../parse/declaration.ts";
import { parseBaseUrlFlag } from "../parse/globals.ts";
import { appSecrets, type SecretSource } from "../process/app-secrets.ts";
import { InputRequiredError, UsageError } from "../process/failure.ts";
import { runDerivedCommand } from "../runtime/derived-command.ts";

const createSecretFlag = <Flag extends string>({ flag, env, label }: SecretSource<Flag>) =>
  createTextFlag(flag, "FILE|-", `File with ${label}; or set ${env}`);

/** Reads the secret without its trailing line break. Returns undefined without a file or variable. */
async function readAppSecret({ flag, env, label }: SecretSource, input: CommandInput, { host }: Context) {
  const path = input.flags[flag];
  if (typeof path !== "string") return readVariable(host, env)?.value;
  if (path === "-" && input.flags.file === "-") {
    throw new UsageError(`--${flag} - cannot be used with --file -`);
  }
  return readSecret(host, path, `--${flag}`, label);
}

function defineChatACommand(verb: string, file: string, positionals: readonly string[] = []): Command {
  const words = ["chat-a", verb];
  return defineCommand({
    words,
    description: "The request is signed with the app's signing secret and the time of this machine.",
    extendsDerived: true,
    flags: [
      createSecretFlag(appSecrets.chatA),
      createTextFlag("header-prefix", "NAME", "Prefix of the two signature headers", { default: "x-chat-a" }),
    ],
    examples: [
      {
        title: "Sign the request",
        argv: [...words, ...positionals, "--file", file, "--signing-secret-file", "chat-a.secret"],
      },
    ],
    async run(input, context, spec) {
      const secret = await readAppSecret(appSecrets.chatA, input, context);
      const prefix = input.flags["header-prefix"] ?? "x-chat-a";
      return runDerivedCommand(spec!, input, context, {
        sign(originalCall) {
          if (secret === undefined) return originalCall;
          const timestamp = String(Math.floor(context.host.wall.now() / 1_000));
          const body = (originalCall.args.body as Uint8Array | undefined) ?? "";
          const signature = signChatA({ signingSecret: secret, timestamp, body });
          return originalCall.with({
            headers: {
              ...originalCall.args.headers,
              [`${prefix}-request-timestamp`]: timestamp,
              [`${prefix}-signature`]: signature,
            },
          });
        },
      });
    },
  });
}

const chatBMessaging = defineCommand({
  words: ["chat-b", "messaging"],
  description: "The token comes from a file or the environment. --mint requests one from the running emulator.",
  extendsDerived: true,
  readsDerived: { flags: [{ flag: "dry-run", type: "switch" }] },
  flags: [createSecretFlag(appSecrets.chatB), createSwitch("mint", "Request a token from the running emulator")],
  examples: [
    ["Use a token of the emulator's issuer", "chat-b messaging --file activity.json --mint"],
    ["Use your own token", "chat-b messaging --file activity.json --token-file token.txt"],
  ],
  async run(input, context, spec) {
    const mints = input.flags.mint === true;
    if (mints && input.flags["token-file"] !== undefined) {
      throw new UsageError("--mint cannot be used with --token-file");
    }
    const appSecret = mints ? undefined : await readAppSecret(appSecrets.chatB, input, context);
    return runDerivedCommand(spec!, input, context, {
      async sign(originalCall) {
        const isDry = input.flags["dry-run"] === true;
        // A dry run needs no token, because the printed header is masked.
        const bearer = mints ? (isDry ? "minted" : await mintToken(context, originalCall.args.body)) : appSecret;
        return bearer === undefined
          ? originalCall
          : originalCall.with({ headers: { authorization: `Bearer ${bearer}` } });
      },
    });
  },
});

/** Creates a token for the activity's serviceUrl. A body that is not an activity gets a token without one. */
async function mintToken(context: Context, activity: unknown): Promise<string> {
  const client = await context.client("emulator");
  const { serviceUrl } = toFields(
    tryParseJson(Buffer.from((activity as Uint8Array | undefined) ?? "").toString("utf8")),
  );
  const body = typeof serviceUrl === "string" ? { service_url: serviceUrl } : {};
  return (await client.call(mintChatBToken, { body })).token;
}

/** Defines a request of crm_a, signed as the CRM does if the app's secret is given. */
function defineCrmACommand(verb: string, example: readonly string[]): Command {
  const words = ["crm-a", verb];
  return defineCommand({
    words,
    description: "The request is signed with the app's client secret and the time of this machine.",
    extendsDerived: true,
    flags: [
      createSecretFlag(appSecrets.crmA),
      createTextFlag("signature-version", "VERSION", "Signature version", {
        choices: ["v1", "v2", "v3"],
        default: "v3",
      }),
      createTextFlag(
        "public-url",
        "URL",
        "Address to sign (default: the public address of an emulator, else the requested one)",
      ),
      createTextFlag("query", "NAME=VALUE", "Parameter of the CRM: portalId=62515", { repeatable: true }),
    ],
    examples: [{ title: "Sign the request", argv: [...words, ...example, "--client-secret-file", "crm-a.secret"] }],
    async run(input, context, spec) {
      const secret = await readAppSecret(appSecrets.crmA, input, context);
      const version = input.flags["signature-version"] ?? "v3";
      const publicUrl = input.flags["public-url"];
      const payload = parsePairs(input.flags.query ?? []);
      return runDerivedCommand(spec!, input, context, {
        query: payload,
        async sign(originalCall) {
          if (secret === undefined) return originalCall;
          const base = { router: await resolveSignedAddress(publicUrl, context) };
          const timestamp = version === "v3" ? String(context.host.wall.now()) : "";
          const { method, url } = buildRequest(originalCall, base, undefined);
          const signature = signCrmA({ version, clientSecret: secret, method, url, body: "", timestamp });
          return originalCall.with({
            headers: {
              ...originalCall.args.headers,
              "x-crm-a-signature": signature,
              "x-crm-a-signature-version": version,
              ...(timestamp && { "x-crm-a-signature-timestamp": timestamp }),
            },
          });
        },
      });
    },
  });
}

/** The server checks the signature with its public address. */
async function resolveSignedAddress(publicUrl: string | undefined, context: Context): Promise<string | undefined> {
  if (publicUrl !== undefined) return parseBaseUrlFlag(publicUrl, "--public-url");
  const { router } = (await context.target("router")).baseUrls;
  if (!(await isEmulator(context))) return router;
  const client = await context.client("emulator");
  return (await client.call(checkReadiness)).public_url ?? router;
}

function parsePairs(texts: readonly string[]): Record<string, string | string[]> {
  const pairs = new Map<string, string | string[]>();
  for (const text of texts) {
    const equals = text.indexOf("=");
    if (equals < 1) throw new UsageError(`--query must be NAME=VALUE (portalId=62515), got "${text}"`);
    const name = text.slice(0, equals);
    const value = text.slice(equals + 1);
    pairs.set(name, pairs.has(name) ? [pairs.get(name)!, value].flat() : value);
  }
  return Object.fromEntries(pairs);
}

const crmBOpen = defineCommand({
  words: ["crm-b", "open"],
  description: "Signs an envelope with the app's consumer secret, as the CRM does.",
  extendsDerived: true,
  readsDerived: { flags: [{ flag: "signed-request", type: "text" }] },
  bodyFrom: ["envelope", "consumer-secret-file"],
  flags: [
    createSecretFlag(appSecrets.crmB),
    createTextFlag("envelope", "FILE|-", "JSON envelope to sign and send (default: an empty context)"),
  ],
  examples: [["Sign an envelope", "crm-b open --envelope envelope.json --consumer-secret-file crm-b.secret"]],
  async run(input, context, spec) {
    const { envelope, "signed-request": signedRequest } = input.flags;
    if (signedRequest !== undefined && envelope !== undefined)
      throw new UsageError("--envelope cannot be used with --signed-request");
    const secret = signedRequest === undefined ? await readAppSecret(appSecrets.crmB, input, context) : undefined;
    if (secret === undefined) {
      const isSigned = ["signed-request", "data", "set"].some((name) => name in input.flags);
      if (envelope === undefined && isSigned) return runDerivedCommand(spec!, input, context);
      const { flag, env } = appSecrets.crmB;
      throw new InputRequiredError(flag, `--${flag} is required, or the secret in ${env}`);
    }
    const text =
      envelope === undefined
        ? '{"algorithm":"HMACSHA256","context":{}}'
        : await readText(context.host, envelope, "--envelope");
    if (text === "") throw new UsageError(`--envelope: ${envelope} is empty, expected a JSON document`);
    const flags = { ...input.flags, "signed-request": signCrmB(secret, text) };
    return runDerivedCommand(spec!, { ...input, flags }, context);
  },
});

const billingEvent = defineCommand({
  words: ["billing", "event"],
  extendsDerived: true,
  flags: [
    createTextFlag("username", "NAME", "User name of the billing provider (default: the name in SVC_BASIC_AUTH)"),
    createSecretFlag(appSecrets.billing),
  ],
  examples: [
    ["Send an event from a file", "billing event --data event.json --username billing --password-file billing.secret"],
  ],
  async run(input, context, spec) {
    const { username } = input.flags;
    const { flag, env } = appSecrets.billing;
    if (username === undefined) {
      if (input.flags[flag] !== undefined) throw new UsageError(`--${flag} requires --username`);
      return runDerivedCommand(spec!, input, context);
    }
    const secret = await readAppSecret(appSecrets.billing, input, context);
    if (secret === undefined) throw new InputRequiredError(flag, `--${flag} is required, or the password in ${env}`);
    return runDerivedCommand(spec!, input, context, { credentials: { basic: { username, password: secret } } });
  },
});

export const commands: readonly Command[] = [
  defineChatACommand("event", "event.json"),
  defineChatACommand("interaction", "payload.txt"),
  defineChatACommand("options", "payload.txt"),
  defineChatACommand("destination-event", "event.json", ["default"]),
  defineChatACommand("destination-interaction", "payload.txt", ["default"]),
  defineChatACommand("destination-options", "payload.txt", ["default"]),
  chatBMessaging,
  defineCrmACommand("iframe", ["--contract-id", "T-17"]),
  defineCrmACommand("cards", ["--query", "associatedObjectId=245"]),
  crmBOpen,
  billingEvent,
];
