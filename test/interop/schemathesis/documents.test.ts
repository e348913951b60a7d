import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { documentedServices } from "../../../src/derive/openapi.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { installPythonPackages } from "../../support/foreign/installation.ts";
import accepted from "./accepted.json" with { type: "json" };

const resolvePath = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** `npm run fuzz` sends many more requests, which differ in each run. */
const isLong = process.env.FUZZ === "long";
const amount = isLong ? ["--max-examples", "500"] : ["--max-examples", "5", "--seed", "10"];
const always = [
  "--workers",
  "1",
  "--request-timeout",
  "30",
  "--generation-database",
  "none",
  "--no-color",
  "--suppress-health-check",
  "all",
];

type Service = (typeof documentedServices)[number];

/** Requests to the contract API act as a known user, because most would otherwise fail with an unknown address. */
const createCredentialHeaders = ({ clusters, token }: TestEmulator): Readonly<Record<Service, readonly string[]>> => ({
  router: [],
  contracts: [
    `client-id: ${clusters[0]?.clientId}`,
    `client-secret: ${clusters[0]?.clientSecret}`,
    "user-email: ada@northwind.example",
  ],
  emulator: [`Authorization: Bearer ${token}`],
});

/** The version is pinned, because another one generates other requests and can check more. */
const version = "4.32.5";
const installation = await installPythonPackages(`schemathesis==${version}`);

describe("schemathesis check of the OpenAPI documents", { concurrency: true }, () => {
  for (const service of documentedServices) {
    it(`finds no difference between ${service} and its document`, { skip: installation.missing }, async (t) => {
      if (installation.missing !== undefined) return;
      const emulator = await startTestEmulator(t, { deterministic: true });
      const { leftOut, failures } = accepted[service];
      const document = `${emulator.controlUrl}/openapi/${service}.json`;
      const { serverUrl, operationIds } = await readDocument(document);
      const acceptedIds = [...leftOut.map(({ operation }) => operation), ...failures.flatMap(listOperations)];
      assert.deepEqual(
        acceptedIds.filter((id) => !operationIds.has(id)),
        [],
        "unknown operations in accepted.json",
      );
      const { exit, report, met } = await run(t, join(installation.folder, "bin/schemathesis"), service, [
        document,
        ...["--url", serverUrl],
        ...createCredentialHeaders(emulator)[service].flatMap((header) => ["--header", header]),
        ...leftOut.flatMap(({ operation }) => ["--exclude-operation-id", operation]),
        ...amount,
        ...always,
      ]);
      assert.equal(exit, 0, report);
      const unmet = failures.map(({ why: reason }) => reason).filter((reason) => !met.has(reason));
      // A short run finds some of these only by chance, and others after any change of a declaration.
      if (isLong) assert.deepEqual(unmet, [], "accepted failures that no longer occur");
    });
  }
});

const listOperations = (row: { readonly operations?: readonly string[] }): readonly string[] => row.operations ?? [];

interface OpenApiDocument {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId?: string }>>>>;
}

/** Reads the first server address, because the default of schemathesis is the document's own address. */
async function readDocument(url: string) {
  const { servers, paths } = (await (await fetch(url)).json()) as OpenApiDocument;
  const operationIds = Object.values(paths).flatMap((item) => Object.values(item).map((entry) => entry.operationId));
  return { serverUrl: servers[0]?.url ?? "", operationIds: new Set(operationIds) };
}

/** Runs schemathesis in its own folder and returns the reasons for failures. */
async function run(t: TestContext, program: string, service: Service, argv: readonly string[]) {
  const cwd = await mkdtemp(join(tmpdir(), "svc-schemathesis-"));
  t.after(() => rm(cwd, { recursive: true, force: true }));
  const metFile = join(cwd, "met.txt");
  const env = { ...process.env, SCHEMATHESIS_HOOKS: resolvePath("hooks.py"), SERVICE: service, MET: metFile };
  const result = await new Promise<{ exit: number; report: string }>((resolve) => {
    const options = { cwd, env, maxBuffer: 2 ** 28 };
    const child = execFile(program, ["run", ...argv], options, (_, stdout, stderr) =>
      resolve({ exit: child.exitCode ?? 1, report: stdout + stderr }),
    );
  });
  return { ...result, met: new Set((await readFile(metFile, "utf8").catch(() => "")).split("\n")) };
}
