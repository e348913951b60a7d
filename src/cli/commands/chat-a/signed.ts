import { type Command, command } from "../../command.ts";
import { type SecretSource, secretFlag, secretFrom } from "../../config/secrets.ts";
import { call } from "../../derived.ts";

const signingSecret = {
  flag: "signing-secret-file",
  env: "SVC_CHAT_A_SIGNING_SECRET",
  what: "the app's signing secret",
} as const satisfies SecretSource;

/** A webhook of chat_a, signed as the app would where its secret is given. */
export function signedCommand(
  verb: string,
  file: string,
  summary: string,
  positionals: readonly string[] = [],
): Command {
  const words = ["chat-a", verb];
  return command({
    words,
    summary,
    description: "With the app's signing secret the request is signed with the time of this machine.",
    extendsDerived: true,
    positionals: [],
    flags: [
      secretFlag(signingSecret),
      {
        flag: "header-prefix",
        type: "text",
        placeholder: "NAME",
        default: "x-chat-a",
        description: "Begins the names of the two signature headers; a real router knows the app by its own name",
      },
    ],
    examples: [
      {
        title: "Signed",
        argv: [...words, ...positionals, "--file", file, "--signing-secret-file", "chat-a.secret"],
      },
    ],
    async run(input, context, spec) {
      const { signChatA } = await import("../../../schemes/chat-a.ts");
      const secret = await secretFrom(signingSecret, input, context);
      const prefix = input.flags["header-prefix"] ?? "x-chat-a";
      const prepared = await call(spec!, input, context, {
        sign(args) {
          if (secret === undefined) return args;
          const timestamp = String(Math.floor(context.host.wall.now() / 1_000));
          const body = (args.body as Uint8Array | undefined) ?? "";
          const signature = signChatA({ signingSecret: secret, timestamp, body });
          return {
            ...args,
            headers: {
              ...args.headers,
              [`${prefix}-request-timestamp`]: timestamp,
              [`${prefix}-signature`]: signature,
            },
          };
        },
      });
      if (prepared !== "dry-run") await prepared.send();
      return undefined;
    },
  });
}
