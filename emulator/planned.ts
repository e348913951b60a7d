import type { OperationId } from "../src/api/registry.ts";

/** Operations that are declared and have no handler yet, each with the reason. The emulator answers them 501. */
export const planned = {
  "chat-b.messaging": "Waits for the check of bot-framework tokens.",
  "trial.signup": "Waits for trial signup.",
  "trial.complete": "Waits for trial signup.",
  "trial.oauth": "Waits for trial signup.",
  "trial.oauth-callback": "Waits for trial signup.",
  "crm-a.iframe": "Waits for the pages of crm_a.",
  "crm-a.cards": "Waits for the pages of crm_a.",
  "crm-b.open": "Waits for the pages of crm_b.",
  "crm-b.canvas": "Waits for the pages of crm_b.",
  "device-grant.code": "Waits for device authorization.",
  "device-grant.token": "Waits for device authorization.",
  "device-grant.create-client": "Waits for device authorization.",
  "device-grant.decide": "Waits for device authorization.",
  "oidc.jwks": "Waits for OpenID Connect.",
  "oidc.discovery": "Waits for OpenID Connect.",
  "oidc.token": "Waits for OpenID Connect.",
  "oidc.userinfo": "Waits for OpenID Connect.",
} as const satisfies Partial<Record<OperationId, string>>;

export type Planned = keyof typeof planned;
