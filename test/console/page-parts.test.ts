import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { canMove, findPossibleMoves, lifecycleEdges } from "../../src/console/contracts/lifecycle-picture.tsx";
import { describeMoveResults } from "../../src/console/contracts/moves.ts";
import { formatCount, formatElapsed } from "../../src/console/format.ts";
import { readEvents } from "../../src/console/live/follow.ts";
import { formatRepeatCommands } from "../../src/console/requests/request-page.tsx";
import { mergeRequests, newestRequests, type Request, totalRequests } from "../../src/console/state/requests.ts";
import { buildHref, buildPartHref, formatReferenceHref, parseRoute } from "../../src/console/state/route.ts";
import { listTree } from "../../src/console/trace/trace-drawer.tsx";

describe("console URL builder", () => {
  it("links to the trace of an object without a view, next to the current view", () => {
    const trace = "0af7651916cd43dd8448eb211c80319c";
    const createTraceLink = (ref: string) => `#/?trace=${encodeURIComponent(ref)}`;
    assert.deepEqual(
      ["event:4", "timer:5", "advance:6", trace, `00-${trace}-00f067aa0ba902b7-01`].map(formatReferenceHref),
      [
        createTraceLink("event:4"),
        createTraceLink("timer:5"),
        createTraceLink("advance:6"),
        createTraceLink(trace),
        createTraceLink(trace),
      ],
    );
  });

  it("encodes and parses view, object and trace", () => {
    for (const [view, id] of [
      ["timeline", undefined],
      ["deliveries", "7"],
      ["routing", "a/b?c#d@x.example"],
    ] as const) {
      const { query, ...read } = parseRoute(buildHref(view, id));
      assert.deepEqual([read, query.size], [{ view, id }, 0]);
    }
    assert.equal(parseRoute("#/deliveries/7?trace=delivery%3A7").query.get("trace"), "delivery:7");
    assert.deepEqual(parseRoute("#/deliveries/%E0%A4%A").id, "%E0%A4%A");
  });

  it("resolves references", () =>
    assert.deepEqual(
      ["T-1", "h-4", "delivery:7", "attempt:7.2", "request:12", "webhook:3", " jo@acme.example ", "12"].map(
        formatReferenceHref,
      ),
      [
        "#/contracts/T-1",
        "#/contracts/H-4",
        "#/deliveries/7",
        "#/deliveries/7",
        "#/requests/12",
        "#/timeline/3",
        "#/routing/jo%40acme.example",
        undefined,
      ],
    ));
});

describe("part of a console view", () => {
  it("combines several parts in the URL", () => {
    const part = buildPartHref("deliveries", { webhook: "1", show: "undelivered", at: undefined });
    assert.equal(part, "#/deliveries?webhook=1&show=undelivered");
    const { view, id, query } = parseRoute(part);
    assert.deepEqual(
      [view, id, Object.fromEntries(query)],
      ["deliveries", undefined, { webhook: "1", show: "undelivered" }],
    );
  });
});

describe("lifecycle diagram", () => {
  it("matches the declared table", () => {
    assert.deepEqual(
      lifecycleEdges.filter(({ from }) => from === "SIGN").map(({ to, triggers }) => [to, triggers]),
      [
        ["REDLINING", ["unmark-for-execution", "decline"]],
        ["EXECUTED", ["all-signed", "executed-outside"]],
        ["DRAFT", ["decline"]],
        ["VOIDED", ["void"]],
        ["ON_HOLD", ["hold"]],
      ],
    );
    assert.deepEqual(
      findPossibleMoves("EXECUTED").map(({ trigger, to }) => [trigger, to]),
      [["delete", "(deleted)"]],
    );
    assert.deepEqual([canMove("ON_HOLD", "resume"), canMove("DRAFT", "sign")], [true, false]);
  });

  it("lists a shared outcome of several transitions once", () => {
    const results = (status: "DRAFT" | "REDLINING" | "SIGN", trigger: string) =>
      describeMoveResults(findPossibleMoves(status).filter((move) => move.trigger === trigger));
    assert.deepEqual(
      [results("DRAFT", "complete-review"), results("REDLINING", "complete-review"), results("SIGN", "decline")],
      [
        "status unchanged",
        "status unchanged, if an internal review is open, or if the counterparty's review is open and approvals are pending; otherwise becomes SIGN, if the counterparty's review is open and no approval is pending; otherwise status unchanged",
        "becomes DRAFT, if created from a template; otherwise becomes REDLINING",
      ],
    );
  });
});

describe("console data module", () => {
  it("parses events split across stream chunks", async () => {
    const bytes = Buffer.from('id: 1\ndata: {"a":"ä\u2028ö"}\n\n:\n\nevent: x\ndata: {"b":2}\n\ndata: {"c"');
    for (let size = 1; size < bytes.length; size += 1) {
      const stream = new ReadableStream<BufferSource>({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size));
          controller.close();
        },
      });
      const found: unknown[] = [];
      for await (const events of readEvents(stream)) found.push(...events);
      assert.deepEqual(found, [{ a: "ä\u2028ö" }, { b: 2 }], `pieces of ${size}`);
    }
  });

  it("lists planned events after effects of the same cause", () => {
    const nodes = [
      { id: "a", parent: null },
      { id: "b", parent: "a" },
      { id: "c", parent: "b" },
      { id: "d", parent: null },
    ];
    const plannedNodes = [
      { parent: "a", what: "soon" },
      { parent: "b", what: "next" },
    ];
    assert.deepEqual(
      listTree(nodes, plannedNodes).map(({ node, planned, depth }) => [node?.id ?? planned?.what, depth]),
      [
        ["a", 0],
        ["b", 1],
        ["c", 2],
        ["next", 2],
        ["soon", 1],
        ["d", 0],
      ],
    );
  });

  it("lists a chain of as many events as a trace can have", () => {
    const nodes = Array.from({ length: 10_000 }, (_, at) => ({ id: `${at}`, parent: at === 0 ? null : `${at - 1}` }));
    assert.deepEqual(
      listTree(nodes, []).map(({ depth }) => depth),
      [...nodes.keys()],
    );
  });

  it("formats durations and numbers", () =>
    assert.deepEqual(
      [
        formatElapsed(400),
        formatElapsed(65_000),
        formatElapsed(9_300_000),
        formatElapsed(172_800_000),
        formatCount(10_000),
      ],
      ["0 s", "1 min 5 s", "2 h 35 min", "2 days", "10\u202f000"],
    ));
});

const request: Request = {
  id: 1,
  at: "2031-01-02T03:04:05.000Z",
  wall_at: "2031-01-02T03:04:05.000Z",
  listener: "eu-1",
  service: "contracts",
  operation: "contracts.create",
  nearest: null,
  method: "POST",
  target: "/api/v2.1/public/contracts/?q=it's",
  headers: { host: "x", "client-id": "[redacted]", "content-type": "application/json", "content-length": "9" },
  status: 201,
  failure: null,
  caller: null,
  findings: [],
  duration_ms: 1,
};

describe("curl and svc commands for a request", () => {
  it("reads secrets from the environment and the body from a file", () =>
    assert.deepEqual(formatRepeatCommands({ ...request, workspace_id: 2 }, "http://127.0.0.1:4011"), [
      `eval "$(svc emulator env --workspace 2)"`,
      `svc api POST '/api/v2.1/public/contracts/?q=it'\\''s' --data body.json`,
      `curl -X POST -H "client-id: $SVC_CLIENT_ID" -H 'content-type: application/json' --data-binary @body.json 'http://127.0.0.1:4011/api/v2.1/public/contracts/?q=it'\\''s'`,
    ]));

  it("omits browser headers and hidden values", () =>
    assert.deepEqual(
      formatRepeatCommands(
        {
          ...request,
          method: "GET",
          target: "/router/v1/clusters",
          headers: {
            accept: "application/json",
            origin: "http://127.0.0.1:3000",
            "sec-ch-ua-platform": "[redacted]",
            "sec-fetch-mode": "cors",
            "x-own": "[redacted]",
            authorization: "[redacted]",
          },
        },
        "http://127.0.0.1:4010",
      ),
      [
        "svc api GET /router/v1/clusters",
        `curl -X GET -H 'accept: application/json' -H "authorization: $AUTHORIZATION" http://127.0.0.1:4010/router/v1/clusters`,
      ],
    ));

  it("sends a form as a form", () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    assert.deepEqual(formatRepeatCommands({ ...request, target: "/", headers }, "http://127.0.0.1:4011"), [
      "svc api POST / --data body.json --content-type application/x-www-form-urlencoded",
      "curl -X POST -H 'content-type: application/x-www-form-urlencoded' --data-binary @body.json http://127.0.0.1:4011/",
    ]);
  });

  it("sends the token of the emulator to the control plane, and HEAD only with curl", () =>
    assert.deepEqual(
      [
        ...formatRepeatCommands(
          {
            ...request,
            ...{ service: "emulator", method: "POST", target: "/_emulator/reset" },
            headers: { authorization: "[redacted]" },
          },
          "http://127.0.0.1:4010",
        ),
        ...formatRepeatCommands({ ...request, method: "HEAD", target: "/", headers: {} }, "http://127.0.0.1:4010"),
      ],
      [
        "svc api POST /_emulator/reset",
        `curl -X POST -H "authorization: Bearer $SVC_EMULATOR_TOKEN" http://127.0.0.1:4010/_emulator/reset`,
        "curl --head http://127.0.0.1:4010/",
      ],
    ));
});

describe("console request list", () => {
  const logged = (id: number, overrides: Partial<Request> = {}) => ({ ...request, id, ...overrides });
  const ids = () => newestRequests.value.map(({ id }) => id);

  it("lists requests since the log was cleared", () => {
    mergeRequests([logged(1), logged(2), logged(3, { service: "emulator", operation: "clock.advance" })]);
    assert.deepEqual([ids(), totalRequests.value], [[3, 2, 1], 2], "counted are those of the services");
    mergeRequests([logged(4, { service: "emulator", operation: "requests.clear", status: 204 })]);
    assert.deepEqual([ids(), totalRequests.value], [[], 0]);
    mergeRequests([logged(5)]);
    assert.deepEqual([ids(), totalRequests.value], [[5], 1]);
  });
});
