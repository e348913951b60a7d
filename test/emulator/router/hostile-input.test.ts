import assert from "node:assert/strict";
import { request } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { request as ask } from "undici";
import type { Failure } from "../../../src/api/failure.ts";
import { failures } from "../../../src/api/failures.ts";
import type { Operation } from "../../../src/api/operation.ts";
import { registry } from "../../../src/api/registry.ts";
import { fillTemplate, findPlaceholders } from "../../../src/base/urls.ts";
import { formatBasicHeader } from "../../../src/schemes/http-authorization.ts";
import { type RoutedEmulator, startRoutedEmulator } from "../../support/routed-emulator.ts";

const operations = (registry as readonly Operation[]).filter(({ service }) => service.name === "router");
const catchAll = operations.find(({ id }) => id === "catch-all")!;

/** Returns the permitted statuses of an operation: the declared ones, and 200 of the cluster behind it. */
function listDeclaredStatuses({ responses, failures: operationFailures, service }: Operation): Set<number> {
  const catalogue = failures as Readonly<Record<string, Failure<unknown>>>;
  const failureStatuses = [...operationFailures, ...service.failures].map((code) => catalogue[code]!.status);
  return new Set([...Object.keys(responses).map(Number), ...failureStatuses]);
}

interface Hostile {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

interface Seen {
  readonly status: number;
  readonly matched: string | undefined;
  readonly names: readonly string[];
}

/** Sends an unchanged target, which fetch would normalize. */
const send = (base: string, method: string, { path, headers, body }: Hostile): Promise<Seen> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    // Node omits the length of a DELETE request, so the body would be parsed as the next request.
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const clientRequest = request({ hostname, port, method, path, headers: { ...headers, ...length } }, (response) => {
      response
        .resume()
        .on("end", () =>
          resolve({
            status: response.statusCode!,
            matched: response.headers["x-svc-matched"] as string | undefined,
            names: Object.keys(response.headers),
          }),
        );
    });
    clientRequest.on("error", reject).end(body);
  });

interface Stage {
  readonly emulator: RoutedEmulator;
  readonly bugs: readonly string[];
  /** Sends the request, and asserts that its response is declared and that a rejection changed no row. */
  attack(operation: Operation, hostile: Hostile): Promise<void>;
}

async function startHostileRouter(t: TestContext): Promise<Stage> {
  const bugs: string[] = [];
  const emulator = await startRoutedEmulator(t, {
    log: (line) => bugs.push(line),
    apps: { billing: { username: "u", password: "p" } },
  });
  const authorization = `Bearer ${emulator.token}`;
  // The state is a string, because it is compared thousands of times.
  const state = async () => {
    const { statusCode, body } = await ask(`${emulator.controlUrl}/state`, { headers: { authorization } });
    assert.equal(statusCode, 200);
    return body.text();
  };
  let before = await state();
  return {
    emulator,
    bugs,
    async attack(operation, hostile) {
      const method = [operation.method].flat().at(-1) === "DELETE" ? "DELETE" : String([operation.method].flat()[0]);
      const { status, matched, names } = await send(emulator.routerUrl, method, {
        path: createTarget(operation),
        ...hostile,
      });
      // A path that no longer matches the operation reaches the catch-all.
      const allowed = listDeclaredStatuses(matched === "catch-all" ? catchAll : operation);
      const { body = "", ...rest } = hostile;
      const label = `${operation.id} ${JSON.stringify(rest).slice(0, 200)} ${Buffer.from(body).subarray(0, 80)}`;
      assert.ok(allowed.has(status), `${label} answered ${status}, declared are ${[...allowed].join(", ")}`);
      assert.ok(!names.includes("x-injected"), label);
      const after = await state();
      if (status >= 400) assert.equal(after, before, label);
      before = after;
    },
  };
}

const createTarget = ({ path }: Operation, value = "default"): string =>
  fillTemplate(path, Object.fromEntries(findPlaceholders(path).map((name) => [name, value])));

const long = "a".repeat(8_000);

describe("hostile router input", () => {
  it("covers every route", () => {
    assert.equal(operations.length, 57);
  });

  const segments = [
    "..",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "%",
    "%zz%",
    "%ff%fe%c0%af",
    "a%00b",
    "x%0d%0aX-Injected:%201",
    "__proto__",
    "constructor",
    "%F0%9F%92%A9",
    "$%7bjndi:x%7d",
    long,
  ];
  it("causes no bug in a path", async (t) => {
    const { bugs, attack } = await startHostileRouter(t);
    for (const operation of operations.filter(({ path }) => findPlaceholders(path).length > 0)) {
      for (const segment of segments) {
        const path = operation.path.replaceAll(/\{[^}]+\}/g, () => segment);
        await attack(operation, { path });
        await attack(operation, { path: path.replace("/router", "/x/../router") });
      }
    }
    assert.deepEqual(bugs, []);
  });

  const queries = [
    "code=%ff%fe&state=%&token=%zz",
    "code=__proto__&state=__proto__&token=__proto__&contract_id=__proto__",
    "code[]=1&state[a]=b&token[0]=1&__proto__[x]=1",
    "code=1&code=2&state=1&state=2&token=1&token=2",
    "code=&state=&token=",
    "code=%00&state=%0d%0aX-Injected:1&token=%0d%0aX-Injected:1&contract_id=%0d%0aX-Injected:1",
    `code=${long}&state=x&token=x`,
    "index_url_override=javascript:alert(1)",
    `${"&".repeat(3_000)}=`,
    "email=%ff&email_hash=%00&cluster_id=..%2f&client_id=%",
  ];
  it("causes no bug in a query", async (t) => {
    const { bugs, attack } = await startHostileRouter(t);
    for (const operation of operations) {
      for (const query of queries) await attack(operation, { path: `${createTarget(operation)}?${query}` });
    }
    assert.deepEqual(bugs, []);
  });

  const headers: Readonly<Record<string, string>>[] = [
    { "x-forwarded-for": '"><script>, , 999.999.999.999', "x-forwarded-host": "else.example/..", via: "1.1 , ,x" },
    { "x-forwarded-for": long, "x-forwarded-proto": "javascript" },
    { authorization: "Bearer ÿÿ..ÿ", "x-cluster-key": "ÿþ", cookie: "__proto__=1" },
    { authorization: `Bearer ${"a.".repeat(2_000)}`, "client-id": "__proto__" },
    { authorization: "Basic ////", "x-cluster-id": "__proto__" },
    { authorization: "Basic", "x-cluster-key": "" },
    {
      authorization: `Bearer ${Buffer.from('{"alg":"none","kid":"__proto__"}').toString("base64url")}.${Buffer.from('{"cluster":"__proto__"}').toString("base64url")}.`,
    },
    { "x-crm-a-signature": "ÿ", "x-crm-a-signature-version": "__proto__", "x-crm-a-signature-timestamp": "1e999" },
    { "x-chat-a-request-timestamp": "9".repeat(400), "x-chat-a-signature": "v0=" },
    { "content-type": "application/json; charset=utf-7", "content-encoding": "gzip", expect: "100-continue" },
    { "content-type": "multipart/form-data", "user-agent": "() { :;}; echo" },
    { "content-type": ";;;,=", accept: "\t", te: "trailers", connection: "x-forwarded-for, authorization" },
  ];
  it("causes no bug in headers", async (t) => {
    const { bugs, attack, emulator } = await startHostileRouter(t);
    for (const operation of operations) {
      for (const hostile of headers) await attack(operation, { headers: hostile });
    }
    for (const { headers: receivedHeaders } of [...emulator.eu.received, ...emulator.us.received]) {
      assert.equal(receivedHeaders["x-injected"], undefined);
    }
    assert.deepEqual(bugs, []);
  });

  const bodies: readonly (string | Uint8Array)[] = [
    "",
    "{",
    "[".repeat(50_000),
    '{"__proto__":{"cluster_id":"eu-1"},"constructor":{"prototype":{}}}',
    '{"cluster_id":{"$ne":null},"email":[[[]]],"device_code":1e999,"token":true,"Metadata":[]}',
    '[{"signatory_hash":{"__proto__":1},"cluster":[]}]',
    "payload=%7B%22team%22%3A%7B%22id%22%3A%5B%5D%7D%7D&signed_request=%ff.%00&ssl_check=2",
    `payload=${"%5B".repeat(20_000)}`,
    "signed_request=a.b&signed_request=__proto__&signed_request[]=1",
    "--x\r\ncontent-disposition: form-data; name=signed_request\r\n\r\n",
    Buffer.from([0xff, 0xfe, 0x00, 0xd8, 0x7b, 0x22]),
  ];
  for (const type of ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]) {
    it(`causes no bug in a body of type ${type || "none"}`, async (t) => {
      const { bugs, attack } = await startHostileRouter(t);
      const credentials = { authorization: formatBasicHeader({ user: "u", password: "p" }) };
      for (const operation of operations.filter(({ method }) => method !== "GET")) {
        for (const body of bodies) {
          await attack(operation, { body, headers: { ...credentials, ...(type && { "content-type": type }) } });
        }
      }
      assert.deepEqual(bugs, []);
    });
  }

  it("causes no bug as a body of 10 MB of zeros", async (t) => {
    const { bugs, attack } = await startHostileRouter(t);
    // hostile.test.ts sends bodies of this size to the operations that parse or forward them.
    const otherOperations = operations.filter(({ request: { body } }) => body?.kind !== "json" && body?.kind !== "raw");
    for (const operation of otherOperations) await attack(operation, { body: new Uint8Array(10_000_000) });
    assert.deepEqual(bugs, []);
  });
});
