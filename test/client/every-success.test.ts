import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { CheckedCall } from "../../src/client/checked-call.ts";
import { createClient } from "../../src/client/client.ts";
import { createTransport } from "../../src/client/transport.ts";

const operations: readonly Operation[] = registry;
const statuses = [200, 201, 202, 204];

/** A service that always responds with this status and body, and a client for it. */
async function startRespondingService(t: TestContext, status: number, body: string) {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(status, body === "" ? {} : { "content-type": "application/json" }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClient({
    baseUrls: { router: url, contracts: url, emulator: url },
    transport: createTransport(),
    credentials: {
      clientId: "a",
      clientSecret: "b",
      clusterKey: "c",
      bearer: "d",
      controlToken: "e",
      basic: { username: "f", password: "g" },
    },
  });
  t.after(async () => {
    await client.close();
    server.close();
  });
  return { client, url };
}

/** The value that a caller receives, with events and bytes collected. */
async function readContents(value: unknown): Promise<unknown> {
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
  const pieces: unknown[] = [];
  for await (const piece of value as AsyncIterable<unknown>) pieces.push(piece);
  if (!pieces.every((piece) => piece instanceof Uint8Array)) return pieces;
  return Buffer.concat(pieces as Uint8Array[]).toString();
}

const getResponseKind = ({ responses }: Operation, status: number) =>
  (responses[status] ?? Object.values(responses)[0]!).kind;

/** The expected value of the body by its declared kind. */
function getExpectedValue(operation: Operation, status: number, body: string): unknown {
  const document = body === "" ? undefined : JSON.parse(body);
  switch (getResponseKind(operation, status)) {
    case "html":
      return body;
    case "bytes":
      return body === "" ? "" : body;
    case "events":
      return body === "" ? "" : [document];
    default:
      return document;
  }
}

describe("success status of every operation", () => {
  for (const status of statuses) {
    for (const body of status === 204 ? [""] : ['{"id":"C-1"}', ""]) {
      it(`accepts ${status} ${body === "" ? "without a body" : "with a body"}`, async (t) => {
        const { client, url } = await startRespondingService(t, status, body);
        const wrong: Record<string, unknown> = {};
        for (const operation of operations) {
          const { params, query, headers, body: content } = operation.examples[0] ?? {};
          const kind = operation.request.body?.kind;
          const isBytes = kind === "stream" || kind === "raw";
          const args = { params, query, headers, body: isBytes ? Buffer.from("x") : (content ?? {}) };
          // Only responses are tested, so the arguments of an example may be incomplete.
          const request = kind === undefined ? {} : { body: { kind } };
          const outcome = await client
            .send(CheckedCall.check({ ...operation, request }, args), { url: `${url}/signed` })
            .then(async (response) => ({ ...response, value: await readContents(response.value) }))
            .catch((error: Error) => ({ value: `${error.name}: ${error.message}`, drift: [] as string[] }));
          const value = getExpectedValue(operation, status, body);
          const isDeclared =
            operation.responses[status] !== undefined || getResponseKind(operation, status) === "passthrough";
          const saysStatus = outcome.drift.some((line) => line.startsWith(`status ${status} instead of `));
          if (!isDeepEqual(outcome.value, value) || saysStatus === isDeclared) wrong[operation.id] = outcome;
        }
        assert.deepEqual(wrong, {});
      });
    }
  }
});

function isDeepEqual(actual: unknown, expected: unknown): boolean {
  try {
    assert.deepEqual(actual, expected);
    return true;
  } catch {
    return false;
  }
}
