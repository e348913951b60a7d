/** The instance id of what answers `ready` at that URL; undefined when nothing of ours does. Rejects on silence. */
export async function instanceAt(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/_emulator/ready`, { signal: AbortSignal.timeout(2_000) });
    const body = JSON.parse(await shortText(response)) as { readonly instance_id?: unknown };
    return typeof body.instance_id === "string" ? body.instance_id : undefined;
  } catch (error) {
    if (error instanceof DOMException && error.name === "TimeoutError") throw error;
    return undefined;
  }
}

/** Whatever listens there now may answer without end; ours says a few words. */
async function shortText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > 65_536) throw new Error("no answer of ours is so long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
