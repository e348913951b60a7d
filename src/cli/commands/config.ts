import { createSwitch, createTextFlag } from "../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { type Profile, type ProfileSetting, readProfiles, requireProfile } from "../connection/profiles/profile.ts";
import {
  changeProfile,
  changeProfiles,
  findProfileSetting,
  listEffectiveSettings,
  setProfileSetting,
} from "../connection/profiles/profile-fields.ts";
import { readVariable, resolveServiceSettings } from "../connection/resolve-settings.ts";
import { readSecret } from "../parse/body.ts";
import { parseBaseUrlFlag } from "../parse/globals.ts";
import { CommandFailedError, InputRequiredError, UsageError } from "../process/failure.ts";
import { canPrompt, confirmYes } from "../prompt/terminal.ts";

const configGet = defineCommand({
  words: ["config", "get"],
  sendsNothing: true,
  summary: "Show one setting",
  description: "Exits 5 if it is not set. Secrets are not shown.",
  positionals: [{ name: "key", description: "Setting, such as router_url" }],
  examples: [["Show the address of the routing service", "config get router_url"]],
  async run(input, context) {
    const key = input.positionals.key;
    const effectiveSetting = (await listEffectiveSettings(context)).find((setting) => setting.key === key);
    if (effectiveSetting?.isSecret)
      throw new UsageError(`${key} is a secret and is not shown. It comes from ${effectiveSetting.origin}.`);
    if (!effectiveSetting) {
      findProfileSetting(key);
      throw new CommandFailedError("not-found", "not_set", `${key} is not set.`);
    }
    const { value, origin } = effectiveSetting;
    if (context.output.format === "table") await context.output.print(String(value));
    else await context.output.show({ key, value, origin }, { fields: ["key", "value", "origin"] });
  },
});

const configList = defineCommand({
  words: ["config", "list"],
  sendsNothing: true,
  summary: "Show the settings that commands would use here",
  description:
    "Options override the environment, and the environment overrides the profile. A profile of --profile overrides the environment. Secrets are never shown.",
  flags: [createSwitch("show-origin", "Show where each value comes from")],
  examples: [
    ["Show the origin of each value", "config list --show-origin"],
    ["Show the settings of another profile", "config list --profile staging"],
  ],
  async run(input, context) {
    const settings = await listEffectiveSettings(context);
    const rows = settings.map((setting) => ({
      key: setting.key,
      value: setting.isSecret ? "[hidden]" : setting.value,
      origin: setting.origin,
    }));
    const value = { name: "value", shrinkPriority: 1 } as const;
    const columns =
      input.flags["show-origin"] === true
        ? ["key", value, { name: "origin", shrinkPriority: 2 } as const]
        : ["key", value];
    await context.output.show(rows, { fields: ["key", "value", "origin"], columns, emptyMessage: "No settings" });
  },
});

const fields = ["name", "current", "router_url", "contracts_url", "client_id", "has_secret", "clusters"];

const configProfiles = defineCommand({
  words: ["config", "profiles"],
  sendsNothing: true,
  summary: "List the profiles",
  examples: [["List the names for a script", "config profiles --format tsv --fields name"]],
  async run(_input, context) {
    const { current, profiles } = await readProfiles(context.host.env);
    const rows = Object.entries(profiles).map(([name, profile]) => ({
      name,
      current: name === current,
      router_url: profile.router_url ?? null,
      contracts_url: profile.contracts_url ?? null,
      client_id: profile.client_id ?? null,
      has_secret: profile.client_secret !== undefined,
      clusters: Object.keys(profile.cluster_keys ?? {}),
    }));
    await context.output.show(rows, {
      fields,
      columns: ["name", "current", { name: "router_url", shrinkPriority: 1 }],
      emptyMessage: "No profiles",
    });
  },
});

const configRemove = defineCommand({
  words: ["config", "remove"],
  sendsNothing: true,
  prints: "text",
  summary: "Remove a profile with its credentials",
  positionals: [{ name: "profile", description: "Name of the profile" }],
  examples: [["Remove a profile without a prompt", "config remove staging --yes"]],
  async run(input, context) {
    const name = input.positionals.profile;
    requireProfile(await readProfiles(context.host.env), name);
    await confirmYes(`Remove profile ${name} with its credentials`, context);
    await changeProfiles(context, ({ current, profiles: { [name]: _, ...profiles } }) => ({
      ...(current !== undefined && current !== name && { current }),
      profiles,
    }));
    await context.output.note(`Removed profile ${name}`);
  },
});

const configSet = defineCommand({
  words: ["config", "set"],
  sendsNothing: true,
  prints: "text",
  summary: "Save a setting in a profile",
  description:
    "Without --profile, changes the current profile, or creates one called default if there is none. Keys: router_url, contracts_url, client_id, client_secret, token, oauth_client_id, emulator_url, emulator_token, cluster_keys.CLUSTER. A secret is typed without being shown, or read from --secret-file. It is never an argument, which other users could see.",
  positionals: [
    { name: "key", description: "Setting, such as router_url or cluster_keys.eu-1" },
    { name: "value", description: "Value of a setting that is not a secret", optional: true },
  ],
  flags: [createTextFlag("secret-file", "FILE|-", "File with the secret, or - for standard input")],
  examples: [
    ["Set the routing service of a profile", "config set router_url https://router.example.com --profile staging"],
    ["Set a secret from a file", "config set client_secret --secret-file secret.txt"],
    ["Type the key of a cluster", "config set cluster_keys.eu-1"],
  ],
  async run(input, context) {
    const setting = findProfileSetting(input.positionals.key);
    const text = await readValue(setting, input.positionals.value, input.flags["secret-file"], context);
    const value = setting.isAddress ? parseBaseUrlFlag(text, setting.key) : text;
    const changeSetting = (profile: Profile) => setProfileSetting(profile, setting.key, value);
    const { name, isNewlyCurrent } = await changeProfile(context, changeSetting);
    const currentNote = isNewlyCurrent ? ", which is now the current profile (to change it: svc config use NAME)" : "";
    await context.output.note(`Set ${setting.key} of profile ${name}${currentNote}`);
  },
});

async function readValue(
  { key, label, isSecret }: ProfileSetting,
  givenValue: string | undefined,
  file: string | undefined,
  context: Context,
): Promise<string> {
  const { host, globals, signal } = context;
  if (!isSecret) {
    if (file !== undefined) throw new UsageError(`--secret-file cannot be used with ${key}, which is not a secret`);
    if (!givenValue?.trim()) throw new InputRequiredError("value", "<value> is required");
    return givenValue;
  }
  if (givenValue !== undefined) {
    throw new UsageError(`${key} is a secret and cannot be an argument: other users could see it.`, {
      hint: `Use --secret-file FILE|-, or omit the value to type it at a prompt. The value may be in the history of your shell.`,
    });
  }
  if (file !== undefined) return readSecret(host, file, "--secret-file", "a secret");
  if (!canPrompt(host, globals)) {
    throw new UsageError("--secret-file required when not running interactively", {
      hint: "Use --secret-file - to read it from standard input.",
    });
  }
  const { askSecret } = await import("../prompt/ask.ts");
  const secret = await askSecret(`${label} (${key}):`, { host, signal });
  if (secret.trim() === "") throw new UsageError(`${key} is empty, expected a secret`);
  return secret;
}

const configUnset = defineCommand({
  words: ["config", "unset"],
  sendsNothing: true,
  prints: "text",
  summary: "Remove a setting from a profile",
  positionals: [{ name: "key", description: "Setting, such as router_url or cluster_keys.eu-1" }],
  examples: [["Remove a secret", "config unset client_secret"]],
  async run(input, context) {
    const { key } = findProfileSetting(input.positionals.key);
    const { name } = await changeProfile(context, (profile) => setProfileSetting(profile, key, undefined), {
      mustExist: true,
    });
    await context.output.note(`Unset ${key} of profile ${name}`);
  },
});

const configUse = defineCommand({
  words: ["config", "use"],
  sendsNothing: true,
  prints: "text",
  summary: "Select the profile of later commands",
  positionals: [{ name: "profile", description: "Name of the profile" }],
  examples: [["Use staging from now on", "config use staging"]],
  async run(input, context) {
    const name = input.positionals.profile;
    await changeProfiles(context, (file) => {
      requireProfile(file, name);
      return { ...file, current: name };
    });
    await context.output.note(`Commands use profile ${name} from now on`);
    const overriding = readVariable(context.host, "SVC_PROFILE");
    if (overriding && overriding.value !== name) {
      await context.output.warn(`${overriding.origin} is set to ${overriding.value} here and overrides it.`);
    }
    const { isEmulatorHere, chosenBy } = await resolveServiceSettings(context);
    if (isEmulatorHere) {
      await context.output.warn(`In this folder ${chosenBy} overrides it. To use the profile: --profile ${name}.`);
    }
  },
});

export const commands: readonly Command[] = [
  configList,
  configGet,
  configSet,
  configUnset,
  configUse,
  configProfiles,
  configRemove,
];
