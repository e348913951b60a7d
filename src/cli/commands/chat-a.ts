import { signChatA } from "../../schemes/chat-a.ts";
import { type Command, defineCommand } from "../command.ts";
import { appSecrets, createSecretFlag, readAppSecret } from "../connection/profiles/secrets.ts";
import { prepareCall } from "../runtime/derived-command.ts";

const event = "event.json";
const form = "payload.txt";

const signingSecret = appSecrets.chatA;

/** A webhook of chat_a, signed as the app does if its secret is given. */
function defineSignedCommand(
  verb: string,
  file: string,
  summary: string,
  positionals: readonly string[] = [],
): Command {
  const words = ["chat-a", verb];
  return defineCommand({
    words,
    summary,
    description: "The request is signed with the app's signing secret and the time of this machine.",
    extendsDerived: true,
    positionals: [],
    flags: [
      createSecretFlag(signingSecret),
      {
        flag: "header-prefix",
        type: "text",
        placeholder: "NAME",
        default: "x-chat-a",
        description: "Prefix of the two signature headers",
      },
    ],
    examples: [
      {
        title: "Signed",
        argv: [...words, ...positionals, "--file", file, "--signing-secret-file", "chat-a.secret"],
      },
    ],
    async run(input, context, spec) {
      const secret = await readAppSecret(signingSecret, input, context);
      const prefix = input.flags["header-prefix"] ?? "x-chat-a";
      const prepared = await prepareCall(spec!, input, context, {
        sign(given) {
          if (secret === undefined) return given;
          const timestamp = String(Math.floor(context.host.wall.now() / 1_000));
          const body = (given.args.body as Uint8Array | undefined) ?? "";
          const signature = signChatA({ signingSecret: secret, timestamp, body });
          return given.with({
            headers: {
              ...given.args.headers,
              [`${prefix}-request-timestamp`]: timestamp,
              [`${prefix}-signature`]: signature,
            },
          });
        },
      });
      if (prepared !== "dry-run") await prepared.send();
      return undefined;
    },
  });
}

export const commands: readonly Command[] = [
  defineSignedCommand("event", event, "Forward an event of chat_a to its team's cluster"),
  defineSignedCommand("interaction", form, "Forward an interaction of chat_a to its team's cluster"),
  defineSignedCommand("options", form, "Forward an options request of chat_a to its team's cluster"),
  defineSignedCommand("destination-event", event, "Forward an event of chat_a within a destination", ["default"]),
  defineSignedCommand("destination-interaction", form, "Forward an interaction of chat_a within a destination", [
    "default",
  ]),
  defineSignedCommand("destination-options", form, "Forward an options request of chat_a within a destination", [
    "default",
  ]),
];
