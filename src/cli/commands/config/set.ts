import { type Context, defineCommand } from "../../command.ts";
import type { Profile } from "../../config/profile.ts";
import type { Setting } from "../../config/setting-keys.ts";
import { canPrompt } from "../../context.ts";
import { UsageError } from "../../failure.ts";
import { readText } from "../../parse/body.ts";

export const configSet = defineCommand({
  words: ["config", "set"],
  prints: "text",
  summary: "Save a setting in a profile",
  description:
    "Without --profile, changes the current profile; the first one is called default. Keys: router_url, contracts_url, client_id, client_secret, token, oauth_client_id, emulator_url, emulator_token, cluster_keys.CLUSTER. A secret is typed without being shown, or read from --secret-file. It is never an argument, which other users could see.",
  positionals: [
    { name: "key", description: "Setting, such as router_url or cluster_keys.eu-1" },
    { name: "value", description: "Value, unless it is a secret", optional: true },
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
    const used = isNewlyCurrent ? ", the first one: commands use it from now on (svc config use chooses another)" : "";
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
    if (file !== undefined) throw new UsageError(`--secret-file is for secrets; ${key} is none`);
    if (given === undefined) throw new UsageError("<value> is required", { hint: "See svc config set --help." });
    return given;
  }
  if (given !== undefined) {
    throw new UsageError(`${key} is a secret: on the command line others could see it.`, {
      hint: `Use --secret-file FILE|-, or leave the value out to be asked. The one just typed may be in your shell's history.`,
    });
  }
  if (file === undefined && !canPrompt(host, globals)) {
    throw new UsageError("--secret-file required when not running interactively", {
      hint: "--secret-file - takes it from standard input.",
    });
  }
  const text =
    file === undefined
      ? await (await import("../../terminal/ask.ts")).askSecret(`${what} (${key}):`, host, signal)
      : await readText(host, file, "--secret-file");
  const secret = text.replace(/\r?\n$/, "");
  const place = file === undefined ? key : `--secret-file: ${file}`;
  if (secret.trim() === "") throw new UsageError(`${place}: there is no secret in it`);
  if (/[\r\n]/.test(secret)) throw new UsageError(`${place}: a secret is one line, this has several`);
  return secret;
}
