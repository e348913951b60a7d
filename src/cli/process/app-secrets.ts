/** Secret of a connected app. A file or the environment provides it, never the command line. */
export interface SecretSource<Flag extends string = string> {
  /** First word of the app's commands. */
  readonly group: string;
  readonly flag: Flag;
  readonly env: string;
  readonly label: string;
  readonly summary: string;
  /** Advice about rejected credentials, if there is more to check than the secret. */
  readonly hint?: string;
}

export const appSecrets = {
  chatA: {
    group: "chat-a",
    flag: "signing-secret-file",
    env: "SVC_CHAT_A_SIGNING_SECRET",
    label: "the app's signing secret",
    summary: "Signing secret of chat_a, for svc chat-a",
  },
  chatB: {
    group: "chat-b",
    flag: "token-file",
    env: "SVC_CHAT_B_TOKEN",
    label: "a bot-framework token",
    summary: "Bot-framework token, for svc chat-b",
    hint: "Check the bot-framework token: --token-file, --mint, or SVC_CHAT_B_TOKEN.",
  },
  crmA: {
    group: "crm-a",
    flag: "client-secret-file",
    env: "SVC_CRM_A_CLIENT_SECRET",
    label: "the app's client secret",
    summary: "Client secret of crm_a, for svc crm-a",
    hint: "Check the app's client secret and the signed address: --client-secret-file and --public-url.",
  },
  crmB: {
    group: "crm-b",
    flag: "consumer-secret-file",
    env: "SVC_CRM_B_CONSUMER_SECRET",
    label: "the app's consumer secret",
    summary: "Consumer secret of crm_b, for svc crm-b",
  },
  billing: {
    group: "billing",
    flag: "password-file",
    env: "SVC_BILLING_PASSWORD",
    label: "the provider's password",
    summary: "Password of the billing provider, for svc billing event --username",
    hint: "Check --username and --password-file, or SVC_BASIC_AUTH.",
  },
} as const satisfies Record<string, SecretSource>;

export const appSecretList: readonly SecretSource[] = Object.values(appSecrets);
