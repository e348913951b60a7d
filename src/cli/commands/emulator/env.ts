import { basename } from "node:path";
import { isHidden } from "../../../api/control-plane.ts";
import { omitUndefined } from "../../../base/object.ts";
import { MissingCredentialsError } from "../../../client/errors.ts";
import { createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import {
  collectSecrets,
  type EmulatorAccess,
  findLocalEmulator,
  getMainCluster,
  listKnownWorkspaces,
  readEmulatorAccess,
  selectWorkspace,
} from "../../connection/emulator/emulator-access.ts";
import { createEmulatorVariables } from "../../connection/emulator/emulator-variables.ts";
import { readProfileKey, readProfileName } from "../../connection/resolve-settings.ts";
import { maskSecrets } from "../../output/ci.ts";
import { CommandFailedError, UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";

const variableFormats = ["bash", "zsh", "fish", "powershell", "dotenv", "github"] as const;
type VariableFormat = (typeof variableFormats)[number];

const emulatorEnv = defineCommand({
  words: ["emulator", "env"],
  summary: "Print variables that connect a shell to the emulator",
  description:
    'Prints the addresses and test credentials that svc emulator exec sets, and unsets variables of other services. To set the variables in a shell, run eval "$(svc emulator env)", which fails if no emulator is running. It uses the addresses of --public-url, if the emulator was started with it. The format matches the shell in SHELL, unless --shell is given. Under GitHub Actions the secrets are masked in the log.',
  flags: [
    createTextFlag("shell", "NAME", "Format: a shell, a .env file (dotenv) or $GITHUB_ENV (github)", {
      choices: variableFormats,
    }),
    createTextFlag("file", "FILE", "State file of the running emulator"),
    createTextFlag("workspace", "ID|NAME", "Workspace whose keys and cluster to use (default: the first)"),
  ],
  examples: [
    ["Print the variables", "emulator env"],
    ["Use another workspace", "emulator env --workspace 2"],
    ["Print the lines that a workflow appends to $GITHUB_ENV", "emulator env --shell github"],
  ],
  async run({ flags }, context) {
    const { host, output } = context;
    const format = flags.shell ?? detectShell(host);
    const isText = output.format === "table";
    try {
      const variables = createEmulatorVariables(await findEmulator(flags, context));
      if (!isText) return await output.show(omitUndefined(variables));
      await output.printContent([Buffer.from(formatVariables(variables, format))]);
    } catch (error) {
      // A shell ignores the exit code in eval "$(svc emulator env)", and the script would then use other services.
      if (isText && !host.stdout.isTTY) await output.printContent([Buffer.from(variableWriters[format].failure)]);
      throw error;
    }
    return undefined;
  },
});

async function findEmulator(
  { file, workspace }: { readonly file?: string | undefined; readonly workspace?: string | undefined },
  context: Context,
): Promise<EmulatorAccess> {
  if (context.globals.emulator)
    throw new UsageError("--emulator cannot be used with svc emulator env: its emulator stops with the command");
  const emulator = await resolveViewer(workspace, await findRunningEmulator(file, context), context);
  if (isHidden(getMainCluster(emulator)?.clientSecret)) {
    throw new CommandFailedError("forbidden", "secrets_hidden", "This token cannot read the emulator's API keys.", {
      hint: "Its role is read. Request one with the role operate from the operator of the emulator.",
    });
  }
  await maskSecrets(context.host, collectSecrets(emulator));
  return emulator;
}

/** The emulator of this folder precedes the one in the environment, whose variables can be outdated. */
async function findRunningEmulator(file: string | undefined, context: Context): Promise<EmulatorAccess> {
  const { globals, host } = context;
  const isNamed = globals.baseUrl !== undefined || readProfileName({ globals, host }) !== undefined;
  const localEmulator = file === undefined && !isNamed ? await findLocalEmulator(host) : undefined;
  if (localEmulator) return readEmulatorAccess(localEmulator, true);
  const { baseUrls, credentials } = await context.target("emulator", file);
  const token = credentials.controlToken;
  if (token === undefined) throw new MissingCredentialsError("control-token");
  return readEmulatorAccess({ routerUrl: String(baseUrls.emulator), token }, true);
}

async function resolveViewer(
  requestedWorkspace: string | undefined,
  emulator: EmulatorAccess,
  { globals, host }: Context,
): Promise<EmulatorAccess> {
  const key = requestedWorkspace === undefined ? await readProfileKey({ globals, host }) : undefined;
  if (requestedWorkspace === undefined && key === undefined) return emulator;
  const workspaces = await listKnownWorkspaces(emulator);
  const workspace = workspaces.find(({ id, name, client_id }) =>
    requestedWorkspace === undefined ? client_id === key : [String(id), name].includes(requestedWorkspace),
  );
  if (workspace) return selectWorkspace(emulator, workspace);
  if (requestedWorkspace === undefined) return emulator;
  const names = workspaces.map(({ id, name }) => `${id} (${name})`).join(", ");
  throw new UsageError(`Workspace "${requestedWorkspace}" not found`, { hint: `Workspaces: ${names}.` });
}

/** Windows sets no SHELL variable. Its shell is PowerShell. */
function detectShell({ env }: Host): VariableFormat {
  const shell = basename(env.SHELL ?? "");
  if (shell === "fish" || shell === "zsh") return shell;
  return shell === "pwsh" || (shell === "" && env.PSModulePath !== undefined) ? "powershell" : "bash";
}

export const commands: readonly Command[] = [emulatorEnv];

/** Within single quotes, a POSIX shell interprets nothing but the closing quote. */
const posix = {
  set: (name: string, value: string): string => `export ${name}='${value.replaceAll("'", "'\\''")}'`,
  unset: (name: string): string => `unset ${name}`,
  /** Ends a script that evaluates it and ends at errors. */
  failure: "false\n",
};

const variableWriters: Readonly<Record<VariableFormat, typeof posix>> = {
  bash: posix,
  zsh: posix,
  // The only escapes in quotes are \' and \\ (https://fishshell.com/docs/current/language.html#quotes).
  fish: {
    set: (name, value) => `set -gx ${name} '${value.replace(/[\\']/g, "\\$&")}'`,
    unset: (name) => `set -e ${name}`,
    failure: "false\n",
  },
  // A quote is doubled, including typographic quotes (about_Quoting_Rules).
  powershell: {
    set: (name, value) => `$env:${name} = '${value.replace(/['\u2018\u2019\u201a\u201b]/g, "$&$&")}'`,
    unset: (name) => `Remove-Item Env:${name} -ErrorAction SilentlyContinue`,
    failure: "throw 'svc emulator env failed'\n",
  },
  // All readers of dotenv files accept bare words, and single quotes around values without a single quote. An empty
  // value is not set.
  dotenv: {
    set: (name, value) => `${name}=${formatDotenvValue(name, value)}`,
    unset: (name) => `${name}=`,
    failure: "",
  },
  // Lines for $GITHUB_ENV. The file has no quoting, and a step cannot unset earlier variables.
  github: { set: formatGitHubLines, unset: (name) => `${name}=`, failure: "" },
};

/** Each variable ends with a line break. An undefined value unsets its variable. */
export function formatVariables(
  variables: Readonly<Record<string, string | undefined>>,
  format: VariableFormat,
): string {
  const { set: writeAssignment, unset } = variableWriters[format];
  return Object.entries(variables)
    .map(([name, value]) => `${value === undefined ? unset(name) : writeAssignment(name, value)}\n`)
    .join("");
}

function formatDotenvValue(name: string, value: string): string {
  if (/^[\w.:/@%+=,-]*$/.test(value)) return value;
  if (!/['\r\n]/.test(value)) return `'${value}'`;
  throw new CommandFailedError("failed", "not_writable", `The value of ${name} cannot be written into a .env file.`, {
    hint: "It contains a quote or a line break, which programs read differently. Choose another --shell.",
  });
}

/** A delimiter that the value does not contain encloses several lines (https://docs.github.com/actions). */
function formatGitHubLines(name: string, value: string): string {
  if (!/[\r\n]/.test(value)) return `${name}=${value}`;
  let end = "end";
  while (value.includes(end)) end += "_";
  return `${name}<<${end}\n${value}\n${end}`;
}
