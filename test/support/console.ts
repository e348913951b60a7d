import type { Emulator } from "../../emulator/index.ts";

/** Creates an address that signs a browser in once, as the owner of the token. */
export async function createConsoleAddress({
  controlUrl,
  token,
}: Pick<Emulator, "controlUrl" | "token">): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${controlUrl}/sessions/codes`, { method: "POST", headers });
  return ((await response.json()) as { url: string }).url;
}

/** Session of a browser. One half is sent by the page, and the other half is a cookie. */
export interface BrowserSession {
  readonly token: string;
  readonly headers: { readonly authorization: string; readonly cookie: string };
}

/** Signs a browser in as the owner of the token. */
export async function createBrowserSession(emulator: Pick<Emulator, "controlUrl" | "token">): Promise<BrowserSession> {
  const code = new URL(await createConsoleAddress(emulator)).hash.slice("#code=".length);
  const response = await fetch(`${emulator.controlUrl}/sessions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const { token } = (await response.json()) as { token: string };
  const [cookie = ""] = response.headers.get("set-cookie")!.split(";");
  return { token, headers: { authorization: `Bearer ${token}`, cookie } };
}
