import { fieldsOf, parsedJson } from "../../src/base/object.ts";
import { wholeBody } from "../http/bodies/whole.ts";

/** Whatever listens there now may answer without end; ours says a few words. */
const maxBytes = 65_536;

/** The instance id of what answers `ready` at that URL; undefined when nothing of ours does. Rejects on silence. */
export async function instanceAt(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/_emulator/ready`, {
      redirect: "error",
      signal: AbortSignal.timeout(2_000),
    });
    const bytes = await wholeBody(response.body ?? Buffer.alloc(0), maxBytes);
    const { instance_id } = fieldsOf(parsedJson(bytes.toString()));
    return typeof instance_id === "string" ? instance_id : undefined;
  } catch (error) {
    if (error instanceof DOMException && error.name === "TimeoutError") throw error;
    return undefined;
  }
}
