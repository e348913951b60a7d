/**
 * Where each resource's operations are declared. A command loads the one module it needs from here; the registry
 * loads all. The first part of a key is the service.
 */
export const resources = {
  "router/health": () => import("./router/health.ts"),
  "router/chat-a": () => import("./router/chat-a.ts"),
  "router/chat-b": () => import("./router/chat-b.ts"),
  "router/cluster-emails": () => import("./router/cluster-emails.ts"),
  "router/cluster-clients": () => import("./router/cluster-clients.ts"),
  "router/invite-tokens": () => import("./router/invite-tokens.ts"),
  "router/chat-a-teams": () => import("./router/chat-a-teams.ts"),
  "router/external-integrations": () => import("./router/external-integrations.ts"),
  "router/clusters": () => import("./router/clusters.ts"),
  "router/trial": () => import("./router/trial.ts"),
  "router/mailer": () => import("./router/mailer.ts"),
  "router/crm-a": () => import("./router/crm-a.ts"),
  "router/crm-b": () => import("./router/crm-b.ts"),
  "router/external-oauth": () => import("./router/external-oauth.ts"),
  "router/device-grant": () => import("./router/device-grant.ts"),
  "router/billing": () => import("./router/billing.ts"),
  "router/signatories": () => import("./router/signatories.ts"),
  "router/proxied": () => import("./router/proxied.ts"),
  "router/oidc": () => import("./router/oidc.ts"),
  "router/catch-all": () => import("./router/catch-all.ts"),
  "contracts/files": () => import("./contracts/files.ts"),
  "contracts/intake": () => import("./contracts/intake.ts"),
  "contracts/webhooks": () => import("./contracts/webhooks.ts"),
  "storage/objects": () => import("./storage/objects.ts"),
  "emulator/lifecycle": () => import("./emulator/lifecycle.ts"),
  "emulator/state": () => import("./emulator/state.ts"),
} as const;

export type ResourceName = keyof typeof resources;
