import { mintChatBToken } from "../../api/emulator/chat-b.ts";
import { toFields } from "../../base/object.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { appSecrets, createSecretFlag, readAppSecret } from "../connection/profiles/secrets.ts";
import { UsageError } from "../process/failure.ts";
import { prepareCall } from "../runtime/derived-command.ts";

const token = appSecrets.chatB;

const chatBMessaging = defineCommand({
  words: ["chat-b", "messaging"],
  summary: "Verify and forward an activity of chat_b to its cluster",
  description: "The token comes from a file or the environment. --mint requests one from the running emulator.",
  extendsDerived: true,
  readsDerived: { flags: [{ flag: "dry-run", type: "switch" }] },
  positionals: [],
  flags: [
    createSecretFlag(token),
    { flag: "mint", type: "switch", description: "Request a token from the running emulator" },
  ],
  examples: [
    {
      title: "To an emulator, with a token of its issuer",
      argv: ["chat-b", "messaging", "--file", "activity.json", "--mint"],
    },
    {
      title: "With your own token",
      argv: ["chat-b", "messaging", "--file", "activity.json", "--token-file", "token.txt"],
    },
  ],
  async run(input, context, spec) {
    const mints = input.flags.mint === true;
    if (mints && input.flags["token-file"] !== undefined) {
      throw new UsageError("--mint cannot be used with --token-file");
    }
    const appSecret = mints ? undefined : await readAppSecret(token, input, context);
    const prepared = await prepareCall(spec!, input, context, {
      async sign(given) {
        const isDry = input.flags["dry-run"] === true;
        // A dry run needs no token, because the printed header is masked.
        const bearer = mints ? (isDry ? "minted" : await mintToken(context, given.args.body)) : appSecret;
        return bearer === undefined ? given : given.with({ headers: { authorization: `Bearer ${bearer}` } });
      },
    });
    if (prepared !== "dry-run") await prepared.send();
    return undefined;
  },
});

/** A token for the activity's serviceUrl. A body that is not an activity gets a token without one. */
async function mintToken(context: Context, body: unknown): Promise<string> {
  const client = await context.client("emulator");
  const service_url = parseServiceUrl(body);
  const answer = await client.call(
    mintChatBToken,
    { body: service_url === undefined ? {} : { service_url } },
    { signal: context.signal },
  );
  return answer.token;
}

function parseServiceUrl(body: unknown): string | undefined {
  try {
    const { serviceUrl } = toFields(JSON.parse(Buffer.from((body as Uint8Array | undefined) ?? "").toString("utf8")));
    return typeof serviceUrl === "string" ? serviceUrl : undefined;
  } catch {
    return undefined;
  }
}

export const commands: readonly Command[] = [chatBMessaging];
