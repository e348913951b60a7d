import { isEmailHash } from "../../../base/email-address.ts";
import { createTextFlag } from "../../../derive/command-spec.ts";
import { readClusterClaim } from "../../../schemes/http-authorization.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { isEmulator } from "../../connection/target.ts";
import { CommandFailedError } from "../../process/failure.ts";
import { runDerivedCommand } from "../../runtime/derived-command.ts";
import { type EmailHashing, getEmailKind, hashFlag, toIdentifier } from "./bulk/identifiers.ts";

interface Owner {
  readonly table: string;
  readonly key: string;
  readonly cluster_id: string;
}

const fields = ["table", "key", "cluster_id"];

const routerResolve = defineCommand({
  words: ["router", "resolve"],
  summary: "Show which cluster owns an identifier, by routing table",
  description:
    "Tries the public look-ups: e-mail address or hash, client ID, cluster ID, and tokens that name their cluster. An emulator also looks up invite tokens, teams, tenants, user codes and signatories.",
  positionals: [{ name: "identifier", description: "Identifier that requests are routed by" }],
  flags: [hashFlag, createTextFlag("file", "FILE", "State file of the running emulator")],
  examples: [
    ["Resolve a person", "router resolve ada@northwind.example"],
    ["Resolve a team of chat_a on an emulator", "router resolve T-NORTHWIND"],
  ],
  async run(input, context) {
    const text = input.positionals.identifier;
    const identifier = isEmailHash(text) ? text.toLowerCase() : text;
    const emulatorOwners = await findEmulatorOwners(context, identifier, input.flags.file);
    const owners: readonly Owner[] = [
      ...(await findNamedClusters(context, identifier)),
      ...(emulatorOwners ?? (await lookUpOwners(context, identifier, input.flags.hash ?? "sha256"))),
    ];
    if (owners.length === 0) {
      throw new CommandFailedError("not-found", "no_owner", `No cluster owns ${identifier}.`, {
        hint: emulatorOwners
          ? undefined
          : "Only e-mail addresses, client IDs and tokens that name their cluster can be looked up.",
      });
    }
    await context.output.show(owners, { fields, columns: fields });
  },
});

async function lookUpOwners(context: Context, identifier: string, hashing: EmailHashing): Promise<Owner[]> {
  // The other command of this module needs neither these schemas nor those of the emulator.
  const { lookUpPublicly } = await import("./bulk/lookup.ts");
  const client = await context.client("router");
  const lookUp = async (table: string, key: string): Promise<Owner[]> => {
    const cluster_id = await lookUpPublicly(table, key, client);
    return cluster_id === null ? [] : [{ table, key, cluster_id }];
  };
  const isEmail = hashing === "none" || isEmailHash(identifier) || identifier.includes("@");
  const cluster = isEmail ? await lookUp("cluster_emails", toIdentifier(getEmailKind(hashing), identifier)) : [];
  const mayBeClient = !isEmail || hashing === "none";
  return cluster.length === 0 && mayBeClient ? lookUp("cluster_clients", identifier) : cluster;
}

/** Finds a cluster by its ID, by a token that begins with the ID, or by a JWT with such a claim. */
async function findNamedClusters(context: Context, identifier: string): Promise<Owner[]> {
  const { listClusters } = await import("../../../api/router/clusters.ts");
  const client = await context.client("router");
  const ids = (await client.call(listClusters)).map(({ cluster_id }) => cluster_id);
  const claimedCluster = readClusterClaim(identifier);
  const prefix = ids.filter((id) => identifier.startsWith(`${id}_`)).sort((a, b) => b.length - a.length)[0];
  return [
    ...(ids.includes(identifier) ? [{ table: "clusters", key: identifier, cluster_id: identifier }] : []),
    ...(prefix === undefined ? [] : [{ table: "prefix", key: `${prefix}_…`, cluster_id: prefix }]),
    ...(claimedCluster !== undefined && ids.includes(claimedCluster)
      ? [{ table: "claim", key: claimedCluster, cluster_id: claimedCluster }]
      : []),
  ];
}

async function findEmulatorOwners(context: Context, identifier: string, file: string | undefined) {
  if (!(await isEmulator(context, file))) return undefined;
  const { listOwners } = await import("../../../api/emulator/owners.ts");
  const client = await context.client("emulator", { file });
  return client.call(listOwners, { query: { identifier } });
}

/** The look-up accepts any string, so an unhashed address would match nothing. */
const showEmail = defineCommand({
  words: ["router", "show-email"],
  summary: "Show which cluster an e-mail address or hash is mapped to",
  extendsDerived: true,
  readsDerived: { positionals: [{ name: "email_hash" }] },
  flags: [hashFlag],
  examples: [["Look up an address", "router show-email ada@northwind.example"]],
  async run(input, context, spec) {
    const text = input.positionals.email_hash;
    const isIdentifier = input.flags.hash === "none" || !(text.includes("@") || isEmailHash(text));
    const email_hash = isIdentifier ? text : toIdentifier(getEmailKind("sha256"), text);
    return runDerivedCommand(spec!, { ...input, positionals: { email_hash } }, context);
  },
});

export const commands: readonly Command[] = [routerResolve, showEmail];
