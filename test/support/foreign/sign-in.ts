import { readFile } from "node:fs/promises";
import type { TestContext } from "node:test";
import { startTestEmulator, type TestEmulator } from "../emulator.ts";

const demo = JSON.parse(await readFile(new URL("../../../fixtures/seeds/demo.json", import.meta.url), "utf8"));
const portal = { client_id: "portal", client_name: "Portal", client_secret: "s3cret:+%" };

/**
 * Starts an emulator with the demo seed and a web app. Its clock is close to real time, because third-party clients
 * validate tokens by the machine's clock.
 */
export const startSignInEmulator = (t: Pick<TestContext, "after">): Promise<TestEmulator> =>
  startTestEmulator(t, { clock: { mode: "real" }, seed: { ...demo, oauth_clients: [...demo.oauth_clients, portal] } });

/** File name that header parsers often handle incorrectly. */
export const difficultFileName = "Pläne (B) 'neu'.txt";

/** Creates the signed address of a file with that name. */
export async function createDownloadUrl({ api }: TestEmulator): Promise<string> {
  const files = [{ filename: difficultFileName, content_type: "text/plain" }];
  const { body } = await api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files } });
  const [file] = (body as { files: { file_id: string; upload_url: string }[] }).files;
  const { file_id = "", upload_url = "" } = file ?? {};
  await fetch(upload_url, { method: "PUT", body: "hello", headers: { "content-type": "text/plain" } });
  const response = await api("GET", `/api/v2.1/public/workspace/files/${file_id}/`);
  return (response.body as { signed_url: string }).signed_url;
}
