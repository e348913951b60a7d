import { userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { appSecretList } from "./app-secrets.ts";
import { CommandFailedError } from "./failure.ts";
import type { Host } from "./host.ts";

/** Reports whether a variable is set to a value other than a word for no. */
export const isSwitchedOn = (value: string | undefined): boolean =>
  value !== undefined && !/^(?:|0|false|no|off)$/i.test(value.trim());

export const environmentVariables: readonly (readonly [names: string, does: string])[] = [
  ["SVC_BASE_URL", "Address of the routing service, which also forwards contract API requests"],
  ["SVC_ROUTER_URL", "Address of the routing service, if it differs from SVC_BASE_URL"],
  ["SVC_CONTRACTS_URL", "Address of the contract API, if it differs from SVC_BASE_URL"],
  ["SVC_CLIENT_ID", "Client ID of the workspace's API key"],
  ["SVC_CLIENT_SECRET", "Secret of the workspace's API key"],
  ["SVC_CLUSTER_KEY", "Key for x-cluster-key, if SVC_CLUSTERS has none for the cluster"],
  ["SVC_CLUSTERS", "JSON array of {id, url, client_id, client_secret, cluster_key}"],
  ["SVC_TOKEN", "Bearer token, such as an OAuth access token; overrides sign-ins of svc auth device-login"],
  ["SVC_OAUTH_CLIENT_ID", "OAuth client of svc auth device-login"],
  ["SVC_BASIC_AUTH", "user:password for requests with HTTP Basic authentication"],
  ...appSecretList.map(({ env, summary }) => [env, summary] as const),
  ["SVC_WEBHOOK_HMAC_KEY", "Base64 signing key of webhooks"],
  ["SVC_EMULATOR_URL", "Control plane of a running emulator"],
  ["SVC_EMULATOR_TOKEN", "Token of the control plane; also sets the token of a new emulator"],
  ["SVC_STORE", "Store of svc emulator start, with its password: postgres://user:password@host/database"],
  ["SVC_STORE_SCHEMA", "Schema of that store, created if it is missing (default: svc)"],
  ["PGPASSWORD, PGPASSFILE", "Password of that store, or a file with it (default: ~/.pgpass)"],
  ["SVC_RUN_FILE", "File for the process ID, addresses and token of svc emulator start"],
  ["SVC_GRACE", "Time for svc emulator start to finish requests after SIGTERM (default: 700ms)"],
  ["SVC_HISTORY", "Maximum size of an emulator's rewind history; 0 disables rewind (default: 256MiB)"],
  ["SVC_RATE_LIMIT", "Contract API requests per second for each workspace of an emulator (default: 0, no limit)"],
  ["SVC_TRUSTED_PROXIES", "Addresses and CIDR ranges whose X-Forwarded-* headers an emulator trusts: 10.0.0.0/8,::1"],
  ["SVC_WEBHOOK_TIMEOUT", "Maximum wait of an emulator for the response to a delivery (default: 60s)"],
  ["SVC_UNTIL_STDIN_ENDS", "1: svc emulator start and svc run stop when their standard input ends"],
  ["SVC_PROFILE", "Profile to use"],
  ["SVC_CONFIG_DIR", "Folder of profiles and tokens (default: ~/.config/svc)"],
  ["SVC_STATE_DIR", "Folder of bulk jobs and their logs (default: ~/.local/state/svc)"],
  ["XDG_CONFIG_HOME, XDG_STATE_HOME", "Parent folders of the two above"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "OpenTelemetry collector for spans of emulators and commands (default: none)"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "Headers for the collector: name=value,name=value"],
  ["OTEL_EXPORTER_OTLP_TIMEOUT", "Timeout for the collector, in milliseconds"],
  [
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "Only http/json is supported. Each OTLP_ variable also has a traces-only OTLP_TRACES_ form.",
  ],
  ["OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES", "Resource attributes of spans"],
  ["TRACEPARENT", "Trace context of a command and of the programs that it starts, if spans are sent"],
  ["TRACESTATE", "State of tracing systems, propagated with TRACEPARENT"],
  ["OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER", "true or none to send no spans"],
  ["BROWSER", "Browser for sign-in and the console; none opens no browser"],
  ["VISUAL, EDITOR", "Editor for svc webhooks trigger --edit"],
  ["SVC_NO_INPUT", "Never prompt"],
  ["SVC_NO_COLOR, NO_COLOR", "Disable colors"],
  ["FORCE_COLOR, CLICOLOR_FORCE", "Print colors without a terminal"],
  ["CI", "Never prompt or animate"],
  ["GITHUB_ACTIONS", "Annotate failures and mask secrets"],
  ["GITHUB_WORKSPACE", "Folder of the repository, for the paths in annotations"],
  ["GITHUB_STEP_SUMMARY, GITHUB_OUTPUT", "Files for the summary of an emulator and for job_id"],
  ["HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "Proxies of requests, except to this machine"],
];

type Env = Host["env"];

/** Returns the folder of profiles and tokens (DECISIONS.md, L11). Throws CommandFailedError without a home folder. */
export const getConfigFolder = (env: Env): string =>
  env.SVC_CONFIG_DIR || getUsualFolder(env, "XDG_CONFIG_HOME", "APPDATA", ".config");

/** Reports whether profiles and tokens can exist. Commands work without a home folder. */
export function hasConfigFolder(env: Env): boolean {
  try {
    return getConfigFolder(env) !== "";
  } catch {
    return false;
  }
}

/** Returns the folder of jobs and their logs (DECISIONS.md, L11). */
export const getStateFolder = (env: Env): string =>
  env.SVC_STATE_DIR ||
  (env.SVC_CONFIG_DIR
    ? join(env.SVC_CONFIG_DIR, "state")
    : getUsualFolder(env, "XDG_STATE_HOME", "LOCALAPPDATA", ".local/state"));

/** Relative XDG values are ignored. */
function getUsualFolder(env: Env, xdg: string, windows: string, homePath: string): string {
  const configured = env[xdg];
  if (configured?.startsWith("/")) return join(configured, "svc");
  const windowsPath = process.platform === "win32" ? env[windows] : undefined;
  return join(windowsPath || join(getHomeFolder(env), homePath), "svc");
}

/** Relative and empty values are ignored, because they would name a folder below the working folder. */
function getHomeFolder({ HOME: home = "" }: Env): string {
  if (isAbsolute(home)) return home;
  try {
    return userInfo().homedir;
  } catch (cause) {
    throw new CommandFailedError(
      "failed",
      "no_home",
      `The home folder is unknown: HOME is not set, and user ${process.getuid?.()} has no entry in the user database.`,
      { hint: "Set HOME, or set SVC_CONFIG_DIR to the folder for profiles, tokens and jobs.", cause },
    );
  }
}
