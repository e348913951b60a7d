import * as z from "zod";
import demo from "../../../fixtures/seeds/demo.json" with { type: "json" };
import empty from "../../../fixtures/seeds/empty.json" with { type: "json" };
import { dictionary } from "../../../src/api/shapes.ts";
import { hashEmail } from "../../../src/base/email-address.ts";
import type { Ids } from "../../../src/base/ids.ts";
import { describeIssue } from "../../../src/base/issues.ts";
import { memoize } from "../../../src/base/object.ts";
import type { StandardSet } from "../../cluster/context.ts";
import { SigningKey, signingKeys } from "../../cluster/identity/signing-keys.ts";
import { appRows, ConnectedApps } from "../../domain/apps.ts";
import { OAuthClient, oauthClients } from "../../domain/client-credentials.ts";
import { ClusterRow, clusterRows } from "../../domain/clusters.ts";
import {
  ContractTemplate,
  ContractType,
  contractTypes,
  entities,
  IntakeWorkflow,
  LegalEntity,
  roles,
  templates,
  User,
  users,
  Workspace,
  WorkspaceRole,
  workflows,
  workspaces,
} from "../../domain/workspaces.ts";
import { buildIntegrationKey, mappingTables, SignatoryMapping, signatories } from "../../router/mapping/tables.ts";
import type { Transaction } from "../../store/port.ts";

const tableNames = Object.keys(mappingTables) as (keyof typeof mappingTables)[];

/** Optional parts of a seed are created at the first start: keys, secrets and IDs that no client needs in advance. */
const generatedFields = {
  cluster: { key: true, destinations: true, external_url: true, position: true },
  workspace: { client_id: true, client_secret: true, hmac_key: true },
} as const;

export const Seed = z.strictObject({
  $schema: z.string().optional().describe("URL of the schema of this file, for editors"),
  about: z.string().optional().describe("Purpose of this seed"),
  time: z.iso
    .datetime()
    .optional()
    .describe("Virtual time at the first start, on a manual clock or with --deterministic"),
  clusters: z.array(ClusterRow.partial(generatedFields.cluster)).min(1),
  workspaces: z.array(Workspace.partial(generatedFields.workspace)).default([]),
  users: z.array(User).default([]),
  roles: z.array(WorkspaceRole).default([]),
  entities: z.array(LegalEntity).default([]),
  contract_types: z.array(ContractType).default([]),
  templates: z.array(ContractTemplate).default([]),
  workflows: z.array(IntakeWorkflow).default([]),
  mappings: z
    .partialRecord(z.enum(tableNames as [string, ...string[]]), dictionary(z.array(z.string())))
    .default({})
    .describe("Identifiers by table and cluster ID, in addition to those of workspaces and users"),
  signatories: z
    .array(SignatoryMapping.omit({ id: true }).partial({ uuid: true }))
    .default([])
    .describe("Hashes of signatories, each with the cluster of a contract"),
  oauth_clients: z.array(OAuthClient).default([]),
  signing_keys: z.array(SigningKey).default([]).describe("Keys for tokens, by cluster (default: a new key)"),
  apps: z
    .strictObject({
      chat_a: ConnectedApps.shape.chat_a.partial().optional(),
      chat_b: ConnectedApps.shape.chat_b.partial().optional(),
      crm_a: ConnectedApps.shape.crm_a.partial().optional(),
      crm_b: ConnectedApps.shape.crm_b.partial().optional(),
      billing: ConnectedApps.shape.billing.partial().optional(),
      captcha: ConnectedApps.shape.captcha.partial().optional(),
      answers: ConnectedApps.shape.answers.optional(),
    })
    .default({}),
});
export type Seed = z.infer<typeof Seed>;

export const namedSeeds = { demo, empty } as const;

/** Reads a seed. The error message lists every invalid field in one line. */
export function parseSeed(value: unknown): Seed {
  const parsed = Seed.safeParse(value, { jitless: true });
  if (!parsed.success) throw new Error(`The seed is not valid: ${parsed.error.issues.map(formatIssue).join("; ")}`);
  return parsed.data;
}

/** Reads a seed of this package. It is parsed once per process, because emulators only read it. */
export const parseNamedSeed = memoize((seed: (typeof namedSeeds)[keyof typeof namedSeeds]) => parseSeed(seed));

function formatIssue(issue: z.core.$ZodIssue): string {
  const message = describeIssue(issue).replace(/^Invalid input: /, "");
  const name = z.core.toDotPath(issue.path);
  return name === "" ? message : `${name}${/^(?:must|is) /.test(message) ? "" : ":"} ${message}`;
}

/** Writes a seed into an empty store. The order in which IDs are drawn is part of `--deterministic`. */
export function applySeed(tx: Transaction, seed: Seed, ids: Ids): void {
  const generateSecret = () => ids.token(24);
  seed.clusters.forEach((cluster, position) => {
    tx.put(clusterRows, {
      id: cluster.id,
      label: cluster.label,
      key: cluster.key ?? `key-${generateSecret()}`,
      destinations: cluster.destinations ?? [cluster.id, cluster.label, "default"],
      external_url: cluster.external_url ?? null,
      position,
    });
  });

  for (const workspaceSeed of seed.workspaces) {
    const workspace = {
      ...workspaceSeed,
      client_id: workspaceSeed.client_id ?? ids.uuid(),
      client_secret: workspaceSeed.client_secret ?? generateSecret(),
      hmac_key: workspaceSeed.hmac_key ?? ids.bytes(64).toString("base64"),
    };
    tx.put(workspaces, workspace);
    tx.map(mappingTables.cluster_clients, workspace.cluster_id, [workspace.client_id]);
    tx.map(mappingTables.creator_tokens, workspace.cluster_id, workspace.creator_tokens);
    tx.map(mappingTables.counterparty_tokens, workspace.cluster_id, workspace.counterparty_tokens);
    tx.map(mappingTables.chat_a_teams, workspace.cluster_id, workspace.chat_a_teams);
    const tenants = workspace.chat_b_tenants.map((tenant) => buildIntegrationKey(tenant));
    tx.map(mappingTables.external_integrations, workspace.cluster_id, tenants);
  }

  const clusterByWorkspace = new Map(seed.workspaces.map((workspace) => [workspace.id, workspace.cluster_id]));
  for (const user of seed.users) {
    tx.put(users, user);
    const cluster = clusterByWorkspace.get(user.workspace_id);
    if (cluster === undefined) throw new Error(`User ${user.id} of the seed belongs to an unknown workspace`);
    tx.map(mappingTables.cluster_emails, cluster, [hashEmail(user.email)]);
  }

  for (const row of seed.roles) tx.put(roles, row);
  for (const row of seed.entities) tx.put(entities, row);
  for (const row of seed.contract_types) tx.put(contractTypes, row);
  for (const row of seed.templates) tx.put(templates, row);
  for (const row of seed.workflows) tx.put(workflows, row);
  for (const row of seed.oauth_clients) tx.put(oauthClients, row);
  for (const row of seed.signing_keys) tx.put(signingKeys, row);

  for (const [table, byCluster] of Object.entries(seed.mappings)) {
    for (const [cluster, identifiers] of Object.entries(byCluster ?? {})) {
      tx.map(mappingTables[table as keyof typeof mappingTables], cluster, identifiers);
    }
  }

  for (const [i, { uuid, ...row }] of seed.signatories.entries()) {
    tx.put(signatories, { id: i + 1, uuid: uuid ?? null, ...row });
  }

  const { apps } = seed;
  tx.put(appRows, {
    name: "apps",
    apps: ConnectedApps.parse({
      chat_a: { ...apps.chat_a },
      chat_b: { app_id: ids.uuid(), ...apps.chat_b },
      crm_a: { client_secret: generateSecret(), ...apps.crm_a },
      crm_b: { consumer_secret: generateSecret(), ...apps.crm_b },
      billing: { username: "billing", password: generateSecret(), ...apps.billing },
      captcha: { captcha_token: generateSecret(), ...apps.captcha },
      answers: apps.answers,
    }),
  });
}

/** Returns the JSON Schema of seed files, for editors and generators. */
export const seedSchema = (): object => ({
  ...z.toJSONSchema(Seed, { io: "input", unrepresentable: "any" }),
  title: "Seed of the emulator",
  description: "Initial state: svc emulator start --seed FILE",
});

/** Returns the contents of a new workspace: those of the first workspace of the demo seed, whichever seed is in use. */
export function getStandardSet(): StandardSet {
  const { workspaces, roles, contract_types, templates, workflows } = parseNamedSeed(demo);
  const { id, organization_types, jurisdictions } = workspaces[0]!;
  const filterByWorkspace = <Row extends { readonly workspace_id: number }>(rows: readonly Row[]): Row[] =>
    rows.filter(({ workspace_id }) => workspace_id === id);
  return {
    organization_types,
    jurisdictions,
    roles: filterByWorkspace(roles),
    contract_types: filterByWorkspace(contract_types),
    templates: filterByWorkspace(templates),
    workflows: filterByWorkspace(workflows),
  };
}
