import { join } from "node:path";
import type { TestContext } from "node:test";
import { readCorpus } from "../../../src/verify/corpus.ts";
import type { RecordedRequest, RecordedResponse } from "../../../src/verify/exchange.ts";
import { ExchangeRecorder } from "../../../src/verify/recorder.ts";
import { createTestFolder } from "../cli/cli-emulator.ts";

type Exchange = readonly [request: RecordedRequest, response: RecordedResponse];

/** Records a corpus of these exchanges, in order. */
export async function recordAll(t: TestContext, all: readonly Exchange[]) {
  const folder = join(await createTestFolder(t), "corpus");
  const recorder = await ExchangeRecorder.open(folder);
  for (const [at, [request, response]] of all.entries()) await recorder.add({ at, request, response });
  await recorder.close();
  return readCorpus(folder);
}

/** An exchange of these parts. The other parts are those of an empty request. */
export const createExchange = (sent: Partial<RecordedRequest>, got: Partial<RecordedResponse> = {}): Exchange => [
  { method: "POST", target: "/api/v2.1/public/contracts/", headers: [], body: Buffer.alloc(0), ...sent },
  { status: 200, headers: [], body: Buffer.alloc(0), ...got },
];

/** An exchange whose request has this body. */
export const createRequest = (type: string, body: string) =>
  createExchange({ headers: [["content-type", type]], body: Buffer.from(body) });
