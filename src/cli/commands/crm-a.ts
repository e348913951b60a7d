import { buildRequest } from "../../client/request.ts";
import { signCrmA } from "../../schemes/crm-a.ts";
import { type Command, defineCommand } from "../command.ts";
import { appSecrets, createSecretFlag, readAppSecret } from "../connection/profiles/secrets.ts";
import { parseBaseUrlFlag } from "../parse/globals.ts";
import { UsageError } from "../process/failure.ts";
import { prepareCall } from "../runtime/derived-command.ts";

const clientSecret = appSecrets.crmA;
const versions = ["v1", "v2", "v3"] as const;

/** A request of crm_a, signed as the CRM does if the app's secret is given. */
function defineSignedCommand(verb: string, summary: string, example: readonly string[]): Command {
  const words = ["crm-a", verb];
  return defineCommand({
    words,
    summary,
    description: "The request is signed with the app's client secret and the time of this machine.",
    extendsDerived: true,
    positionals: [],
    flags: [
      createSecretFlag(clientSecret),
      {
        flag: "signature-version",
        type: "text",
        placeholder: "VERSION",
        choices: versions,
        default: "v3",
        description: "Signature version",
      },
      {
        flag: "public-url",
        type: "text",
        placeholder: "URL",
        description: "Address to sign (default: the requested address)",
      },
      {
        flag: "query",
        type: "text",
        placeholder: "NAME=VALUE",
        repeatable: true,
        description: "Parameter of the CRM: portalId=62515",
      },
    ],
    examples: [{ title: "Signed", argv: [...words, ...example, "--client-secret-file", "crm-a.secret"] }],
    async run(input, context, spec) {
      const secret = await readAppSecret(clientSecret, input, context);
      const version = input.flags["signature-version"] ?? "v3";
      const publicUrl = input.flags["public-url"];
      const payload = Object.fromEntries((input.flags.query ?? []).map(parsePair));
      const prepared = await prepareCall(spec!, input, context, {
        query: payload,
        async sign(given) {
          if (secret === undefined) return given;
          const base =
            publicUrl === undefined
              ? (await context.target("router")).baseUrls
              : { router: parseBaseUrlFlag(publicUrl, "--public-url") };
          const timestamp = version === "v3" ? String(context.host.wall.now()) : "";
          const { method, url } = buildRequest(given, base, undefined);
          const signature = signCrmA({ version, clientSecret: secret, method, url, body: "", timestamp });
          return given.with({
            headers: {
              ...given.args.headers,
              "x-crm-a-signature": signature,
              "x-crm-a-signature-version": version,
              ...(timestamp && { "x-crm-a-signature-timestamp": timestamp }),
            },
          });
        },
      });
      if (prepared !== "dry-run") await prepared.send();
      return undefined;
    },
  });
}

function parsePair(text: string): [string, string] {
  const equals = text.indexOf("=");
  if (equals < 1) throw new UsageError(`--query must be NAME=VALUE (portalId=62515), got "${text}"`);
  return [text.slice(0, equals), text.slice(equals + 1)];
}

export const commands: readonly Command[] = [
  defineSignedCommand("iframe", "Open the embedded app of crm_a", ["--contract-id", "T-17"]),
  defineSignedCommand("cards", "List the cards that crm_a shows next to a record", [
    "--query",
    "associatedObjectId=245",
  ]),
];
