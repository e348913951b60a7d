import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { exampleContract } from "../../../src/api/contracts/contracts.ts";
import { addCleanup } from "../cleanup.ts";
import type { TestEmulator } from "../emulator.ts";

/** Output of the program of each generator. All programs send the same requests with their generated client. */
export const expectedJourney = {
  clusters: ["eu-1", "us-1"],
  unmapped: [404, "No cluster mapping for this email hash"],
  created: "DRAFT",
  recipients: ["jo@acme.example"],
  refused: [404, "Not found."],
} as const;

/** JSON of the contract that the programs create. Each language parses it into its generated types. */
const contract = JSON.stringify(exampleContract);

/** Returns the environment variables with the addresses and the token of the emulator. */
export function getEmulatorEnvironment({ routerUrl, clusters, token }: TestEmulator): Readonly<Record<string, string>> {
  const { url, clientId = "", clientSecret = "" } = clusters[0]!;
  return {
    ROUTER_URL: routerUrl,
    CONTRACTS_URL: url,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    CONTROL_TOKEN: token,
    CONTRACT: contract,
  };
}

/** Creates a folder of the test with the emulator's OpenAPI documents and the program next to the test. */
export async function createClientFolder(
  t: Pick<TestContext, "after">,
  { controlUrl }: TestEmulator,
  beside: string,
  ...files: readonly string[]
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "svc-interop-"));
  addCleanup(t, () => rm(folder, { recursive: true, force: true }));
  for (const name of ["router.json", "contracts.json", "emulator.json"]) {
    await writeFile(join(folder, name), await (await fetch(`${controlUrl}/openapi/${name}`)).text());
  }
  for (const file of files) {
    await copyFile(fileURLToPath(new URL(file, beside)), join(folder, basename(file)));
  }
  return folder;
}
