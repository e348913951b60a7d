import * as schedule from "../../clock/schedule.ts";
import * as clock from "../../clock/virtual-clock.ts";
import * as access from "../../cluster/contracts/access.ts";
import * as comments from "../../cluster/contracts/comments.ts";
import * as contracts from "../../cluster/contracts/rows.ts";
import * as counterparties from "../../cluster/counterparties/rows.ts";
import * as grants from "../../cluster/identity/grants.ts";
import * as signingKeys from "../../cluster/identity/signing-keys.ts";
import * as installations from "../../cluster/installations.ts";
import * as intakes from "../../cluster/intake/rows.ts";
import * as userTasks from "../../cluster/intake/user-tasks.ts";
import * as invitations from "../../cluster/invitations/invite.ts";
import * as objects from "../../cluster/storage/storage.ts";
import * as keyPointers from "../../cluster/templates/key-pointers.ts";
import * as trialWorkspaces from "../../cluster/workspace/new-workspace.ts";
import * as personIds from "../../cluster/workspace/users.ts";
import * as apps from "../../domain/apps.ts";
import * as oauthClients from "../../domain/client-credentials.ts";
import * as clusters from "../../domain/clusters.ts";
import * as controlTokens from "../../domain/control-tokens.ts";
import * as emails from "../../domain/emails.ts";
import * as provider from "../../domain/provider.ts";
import * as workspaces from "../../domain/workspaces.ts";
import * as mailer from "../../router/apps/mailer.ts";
import * as deviceGrants from "../../router/device/rows.ts";
import * as signatories from "../../router/mapping/tables.ts";
import { mappingTables } from "../../router/mapping/tables.ts";
import * as trialSignups from "../../router/trial/signups.ts";
import * as causes from "../../store/causes.ts";
import type { Collection } from "../../store/port.ts";
import * as deliveries from "../../webhooks/deliveries.ts";
import * as webhooks from "../../webhooks/webhooks.ts";

const modules = [
  causes,
  apps,
  clusters,
  clock,
  schedule,
  workspaces,
  oauthClients,
  trialWorkspaces,
  personIds,
  signingKeys,
  grants,
  objects,
  intakes,
  userTasks,
  invitations,
  installations,
  contracts,
  counterparties,
  access,
  comments,
  keyPointers,
  webhooks,
  deliveries,
  provider,
  deviceGrants,
  trialSignups,
  signatories,
  mailer,
  emails,
  controlTokens,
];

const isCollection = (value: unknown): value is Collection =>
  typeof value === "object" && value !== null && "kind" in value && (value.kind === "rows" || value.kind === "mapping");

export const collections: readonly Collection[] = [
  ...modules.flatMap((module) => Object.values(module).filter(isCollection)),
  ...Object.values(mappingTables),
];
