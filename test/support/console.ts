import type { Emulator } from "../../emulator/index.ts";

/** The address that signs a browser in, once, as the owner of that token. */
export async function consoleAddress({ controlUrl, token }: Pick<Emulator, "controlUrl" | "token">): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${controlUrl}/sessions/codes`, { method: "POST", headers });
  return ((await answer.json()) as { url: string }).url;
}
