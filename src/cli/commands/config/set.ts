import { type Context, defineCommand } from "../../command.ts";
import type { Profile } from "../../config/profile.ts";
import type { Setting } from "../../config/setting-keys.ts";
import { canPrompt } from "../../context.ts";
import { UsageError } from "../../failure.ts";
import { readText } from "../../parse/body.ts";

export const configSet = defineCommand({
  words: ["config", "set"],
  sendsNothing: true,
  prints: "text",
  summary: "Save a setting in a profile",
  description:
    "Without --profile, changes the current profile; the first one is called default. Keys: router_url, contracts_url, client_id, client_secret, token, oauth_client_id, emulator_url, emulator_token, cluster_keys.CLUSTER. A secret is typed without being shown, or read from --secret-file. It is never an argument, which other users could see.",
  positionals: [
    { name: "key", description: "Setting, such as router_url or cluster_keys.eu-1" },
    { name: "value", description: "Value of a setting that is not a secret", optional: true },
  ],
  flags: [
    {
      flag: "secret-file",
      type: "text",
      placeholder: "FILE|-",
      description: "File with the secret, or - for standard input",
    },
  ],
  examples: [
    {
      title: "The routing service of a profile",
      argv: ["config", "set", "router_url", "https://router.example.com", "--profile", "staging"],
    },
    { title: "A secret, from a file", argv: ["config", "set", "client_secret", "--secret-file", "secret.txt"] },
    { title: "The key of one cluster, typed", argv: ["config", "set", "cluster_keys.eu-1"] },
  ],
  async run(input, context) {
    const { findSetting, withSetting } = await import("../../config/setting-keys.ts");
    const { changeProfile } = await import("../../config/profile-change.ts");
    const setting = findSetting(input.positionals.key);
    const value = setting.checked(
      await valueFor(setting, input.positionals.value, input.flags["secret-file"], context),
    );
    const change = (profile: Profile) => withSetting(profile, setting.key, value);
    const { name, isNewlyCurrent } = await changeProfile(context, change);
    const used = isNewlyCurrent ? ", which is now the current profile (to change it: svc config use)" : "";
    await context.output.note(`Set ${setting.key} of profile ${name}${used}`);
    return undefined;
  },
});

async function valueFor(
  { key, what, isSecret }: Setting,
  given: string | undefined,
  file: string | undefined,
  context: Context,
): Promise<string> {
  const { host, globals, signal } = context;
  if (!isSecret) {
    if (file !== undefined) throw new UsageError(`--secret-file cannot be used with ${key}, which is not a secret`);
    if (given === undefined) throw new UsageError("<value> is required", { hint: "See svc config set --help." });
    return given;
  }
  if (given !== undefined) {
    throw new UsageError(`${key} is a secret and cannot be an argument: other users could see it.`, {
      hint: `Use --secret-file FILE|-, or omit the value to type it at a prompt. The value may be in the history of your shell.`,
    });
  }
  if (file === undefined && !canPrompt(host, globals)) {
    throw new UsageError("--secret-file required when not running interactively", {
      hint: "Use --secret-file - to read it from standard input.",
    });
  }
  const text =
    file === undefined
      ? await (await import("../../terminal/ask.ts")).askSecret(`${what} (${key}):`, host, signal)
      : await readText(host, file, "--secret-file");
  const secret = text.replace(/\r?\n$/, "");
  const place = file === undefined ? key : `--secret-file: ${file}`;
  if (secret.trim() === "") throw new UsageError(`${place} is empty, expected a secret`);
  if (/[\r\n]/.test(secret)) throw new UsageError(`${place} must be a single line`);
  return secret;
}
