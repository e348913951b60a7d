import type { OperationId } from "../src/api/registry.ts";

/** Operations that are declared and have no handler yet, each with the reason. The emulator answers them 501. */
export const planned = {
  "chat-b.messaging": "waits for the check of bot-framework tokens",
  "trial.signup": "waits for trial signup",
  "trial.complete": "waits for trial signup",
  "trial.oauth": "waits for trial signup",
  "trial.oauth-callback": "waits for trial signup",
  "crm-a.iframe": "waits for the pages of crm_a",
  "crm-a.cards": "waits for the pages of crm_a",
  "crm-b.open": "waits for the pages of crm_b",
  "crm-b.canvas": "waits for the pages of crm_b",
  "device-grant.code": "waits for device authorization",
  "device-grant.token": "waits for device authorization",
  "device-grant.create-client": "waits for device authorization",
  "device-grant.decide": "waits for device authorization",
  "oidc.jwks": "waits for OpenID Connect",
  "oidc.discovery": "waits for OpenID Connect",
  "oidc.token": "waits for OpenID Connect",
  "oidc.userinfo": "waits for OpenID Connect",
} as const satisfies Partial<Record<OperationId, string>>;

export type Planned = keyof typeof planned;
