import { exitCodes } from "./exit.ts";

const rows = (entries: readonly (readonly [string, string])[]): string => {
  const widest = Math.max(...entries.map(([name]) => name.length));
  return entries.map(([name, text]) => `  ${name.padEnd(widest)}  ${text}\n`).join("");
};

/** The environment variables that the command line reads. */
export const environment: readonly (readonly [string, string])[] = [
  ["SVC_BASE_URL", "Address of the routing service, which passes contract API calls on as well"],
  ["SVC_ROUTER_URL", "Address of the routing service, where it differs from SVC_BASE_URL"],
  ["SVC_CONTRACTS_URL", "Address of the contract API, where it differs from SVC_BASE_URL"],
  ["SVC_CLIENT_ID", "Public half of the workspace's API key"],
  ["SVC_CLIENT_SECRET", "Secret half of the workspace's API key"],
  ["SVC_CLUSTER_KEY", "Key for x-cluster-key, where SVC_CLUSTERS has none for the cluster"],
  ["SVC_CLUSTERS", "JSON array of {id, url, client_id, client_secret, cluster_key}"],
  ["SVC_TOKEN", "OAuth access token; outranks the sign-ins of svc auth device-login"],
  ["SVC_OAUTH_CLIENT_ID", "OAuth client of svc auth device-login"],
  ["SVC_BASIC_AUTH", "user:password for calls with HTTP basic credentials"],
  ["SVC_CHAT_A_SIGNING_SECRET", "Signing secret of chat_a, for svc chat-a"],
  ["SVC_CHAT_B_TOKEN", "Bot-framework token, for svc chat-b"],
  ["SVC_CRM_A_CLIENT_SECRET", "Client secret of crm_a, for svc crm-a"],
  ["SVC_CRM_B_CONSUMER_SECRET", "Consumer secret of crm_b, for svc crm-b"],
  ["SVC_BILLING_PASSWORD", "Password of the billing provider, for svc billing event --username"],
  ["SVC_WEBHOOK_HMAC_KEY", "Base64 key that verifies webhooks"],
  ["SVC_EMULATOR_URL", "Control plane of a running emulator"],
  ["SVC_EMULATOR_TOKEN", "Its token"],
  ["SVC_PROFILE", "Profile to use"],
  ["SVC_CONFIG_DIR", "Folder of profiles and credentials"],
  ["SVC_STATE_DIR", "Folder of bulk jobs and their logs"],
  ["BROWSER", "Program that svc auth device-login opens a page with; none for no browser"],
  ["SVC_NO_INPUT", "Never ask anything"],
  ["SVC_NO_COLOR, NO_COLOR", "No colours"],
  ["FORCE_COLOR, CLICOLOR_FORCE", "Colours without a terminal"],
  ["CI", "Never ask, never animate"],
  ["HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "Proxies for calls to a service"],
];

const formatText = `Output formats

Standard output carries data, standard error everything else.

${rows([
  ["(default)", "a table on a terminal, tab-separated rows without headings in a pipe"],
  ["--json", "the whole answer as one JSON document"],
  ["--json=id,status", "these fields only; owner.email reaches deeper"],
  ["--fields id,status", "the same choice for the other formats"],
  ["--format ndjson", "one JSON document per row"],
  ["--format csv", "RFC 4180 with a heading line"],
  ["--format tsv", "tab-separated with a heading line; \\t, \\n, \\r and \\\\ escaped"],
])}
With --json a failure leaves standard output empty and writes one line of JSON to standard error:
  {"error":{"code","message","hint","requestId","retryable","exitCode","next"}}
`;

/** What \`svc help <topic>\` prints. */
export const topics: Readonly<Record<string, () => string>> = {
  "exit-codes": () => `Exit codes\n\n${rows(exitCodes.map(({ code, meaning }) => [String(code), meaning]))}`,
  environment: () => `Environment variables\n\n${rows(environment)}`,
  formats: () => formatText,
};
