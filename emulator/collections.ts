import * as apps from "./apps.ts";
import * as chatBIssuer from "./chat-b-issuer.ts";
import * as schedule from "./clock/schedule.ts";
import * as clock from "./clock/virtual-clock.ts";
import * as comments from "./cluster/comments.ts";
import * as contracts from "./cluster/contract-rows.ts";
import * as counterparties from "./cluster/counterparty-rows.ts";
import * as grants from "./cluster/identity/grants.ts";
import * as signingKeys from "./cluster/identity/signing-keys.ts";
import * as intakes from "./cluster/intake-rows.ts";
import * as keyPointers from "./cluster/key-pointers.ts";
import * as objects from "./cluster/objects.ts";
import * as trialWorkspaces from "./cluster/trial-workspace.ts";
import * as workspaces from "./cluster/workspaces.ts";
import * as clusters from "./clusters.ts";
import * as oauthClients from "./oauth-clients.ts";
import * as provider from "./provider.ts";
import * as deviceGrants from "./router/device-grants.ts";
import * as mailer from "./router/mailer-rows.ts";
import * as signatories from "./router/signatory-rows.ts";
import { mappingTables } from "./router/tables.ts";
import * as trialSignups from "./router/trial-signups.ts";
import type { Collection } from "./store/store.ts";
import * as deliveries from "./webhooks/deliveries.ts";
import * as subscriptions from "./webhooks/subscriptions.ts";

const modules = [
  apps,
  clusters,
  clock,
  schedule,
  workspaces,
  oauthClients,
  trialWorkspaces,
  signingKeys,
  grants,
  objects,
  intakes,
  contracts,
  counterparties,
  comments,
  keyPointers,
  subscriptions,
  deliveries,
  chatBIssuer,
  provider,
  deviceGrants,
  trialSignups,
  signatories,
  mailer,
];

const isCollection = (value: unknown): value is Collection =>
  typeof value === "object" && value !== null && "kind" in value && (value.kind === "rows" || value.kind === "mapping");

/** Every collection of the state: what these modules declare, and the routing data. */
export const collections: readonly Collection[] = [
  ...modules.flatMap((module) => Object.values(module).filter(isCollection)),
  ...Object.values(mappingTables),
];
