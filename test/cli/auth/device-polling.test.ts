import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { createMovedWallClock } from "../../support/clocks/moved-wall-clock.ts";
import { startReceiver } from "../../support/receiver.ts";

const challenge = {
  device_code: "device-secret",
  user_code: "WDJB-MJHT",
  verification_uri: "https://id.example.com/device",
  expires_in: 600,
  interval: 5,
};
const tokens = { access_token: "at", token_type: "Bearer", expires_in: 3600, scope: "" };

type PollResponse = "cut" | { status: number; body: unknown; headers?: Record<string, string> };
const createErrorResponse = (name: string, status = 400): PollResponse => ({ status, body: { error: name } });
const signedIn: PollResponse = { status: 200, body: tokens };

/** Signs in at a server with this challenge and these responses to the polls. */
async function signIn(t: TestContext, responses: readonly PollResponse[], changes: object = {}) {
  const server = await startReceiver(t);
  const remaining = [...responses];
  server.respond((request, response) => {
    const isFirst = request.url.endsWith("/device/code/");
    sendResponse(
      response,
      isFirst ? { status: 200, body: { ...challenge, ...changes } } : (remaining.shift() ?? "cut"),
    );
  });
  const wall = createMovedWallClock();
  const argv = ["auth", "device-login", "--client-id", "cli", "--base-url", server.url, "--debug"];
  const result = await runCli(argv, { wall, env: { SVC_CONFIG_DIR: await createTestFolder(t) } });
  const polls = server.received.length - 1;
  return { ...result, slept: wall.slept, polls, server };
}

function sendResponse(response: ServerResponse, content: PollResponse): void {
  if (content === "cut") return void response.destroy();
  response
    .writeHead(content.status, { "content-type": "application/json", ...content.headers })
    .end(typeof content.body === "string" ? content.body : JSON.stringify(content.body));
}

describe("device token polling", () => {
  it("starts after one interval and adds 5 s permanently per slow_down (RFC 8628, 3.5)", async (t) => {
    const pending = createErrorResponse("authorization_pending");
    const slow = createErrorResponse("slow_down");
    const { exit, slept } = await signIn(t, [pending, slow, pending, slow, pending, pending, signedIn]);
    assert.deepEqual([exit, slept], [0, [5, 5, 10, 10, 15, 15, 15]]);
  });

  it("adopts the interval of a slow_down that adds more than 5 s", async (t) => {
    const slow = (interval: unknown): PollResponse => ({ status: 400, body: { error: "slow_down", interval } });
    const { exit, slept } = await signIn(t, [slow(20), slow(5), slow("soon"), signedIn]);
    assert.deepEqual([exit, slept], [0, [5, 20, 25, 30]]);
  });

  it("defaults to 5 s if the server sends no interval", async (t) => {
    const { slept } = await signIn(t, [createErrorResponse("authorization_pending"), signedIn], {
      interval: undefined,
    });
    assert.deepEqual(slept, [5, 5]);
  });

  it("backs off while the server is unreachable or fails, then restores the interval", async (t) => {
    const responses: PollResponse[] = [
      "cut",
      { status: 502, body: "<html>" },
      { status: 503, body: {}, headers: { "retry-after": "50" } },
      createErrorResponse("authorization_pending"),
      signedIn,
    ];
    const { exit, slept, stderr } = await signIn(t, responses);
    assert.deepEqual([exit, slept], [0, [5, 10, 20, 50, 5]]);
    assert.match(stderr, /Polling failed \(UND_ERR_SOCKET\); trying again in 10 s/);
  });

  for (const [expires_in, good] of [
    [1e300, "; the token expires at 2130-12-09T03:04:10Z"],
    ["1e17", "; the token expires at 2130-12-09T03:04:10Z"],
    [-1, ""],
    ["soon", ""],
  ] as const) {
    it(`stores the tokens when expires_in is ${expires_in}`, async (t) => {
      const { exit, stderr } = await signIn(t, [{ status: 200, body: { ...tokens, expires_in } }]);
      assert.equal(exit, 0, stderr);
      assert.match(stderr, new RegExp(`^Signed in to http:[^;\\s]+${good}$`, "m"));
    });
  }

  it("supports a code lifetime beyond the range of dates", async (t) => {
    const { exit, slept } = await signIn(t, [signedIn], { expires_in: 1e300 });
    assert.deepEqual([exit, slept], [0, [5]]);
  });

  for (const [expires_in, time] of [
    [45, "45 seconds"],
    [60, "1 minute"],
    [119, "1 minute"],
  ] as const) {
    it(`shows a time that the code is valid for, if it is ${expires_in} s`, async (t) => {
      const { stderr } = await signIn(t, [signedIn], { expires_in });
      assert.equal(/^within (.*)\.$/m.exec(stderr)?.[1], time);
    });
  }

  it("reads the error of a response with any status", async (t) => {
    const responses = [
      createErrorResponse("authorization_pending", 428),
      createErrorResponse("slow_down", 429),
      signedIn,
    ];
    const { exit, slept } = await signIn(t, responses);
    assert.deepEqual([exit, slept], [0, [5, 5, 10]]);
  });

  it("stops at the expiry of the code", async (t) => {
    const forever = Array.from({ length: 50 }, () => createErrorResponse("authorization_pending"));
    const { exit, polls, slept } = await signIn(t, forever, { expires_in: 60 });
    assert.deepEqual([exit, polls, slept.length], [4, 11, 11]);
  });

  const ends: [string, PollResponse, number, RegExp][] = [
    [
      "the sign-in was denied",
      createErrorResponse("access_denied"),
      4,
      /denied\.\n {2}try: svc auth device-login --client-id cli\b/,
    ],
    [
      "the server says that the code has expired",
      createErrorResponse("expired_token"),
      4,
      /expired .*\n {2}try: svc auth device-login --client-id cli\b/,
    ],
    ["the code is unknown", createErrorResponse("invalid_grant"), 4, / failed \(HTTP 400\): invalid_grant/],
    ["the error is unknown", createErrorResponse("teapot"), 4, / failed \(HTTP 400\): teapot/],
    ["the response is not an OAuth response", { status: 404, body: "<html>" }, 1, / failed \(HTTP 404\): status 404/],
    ["the response has no token", { status: 200, body: "<html>" }, 1, /no access token/],
    ["the token is of another type", { status: 200, body: { ...tokens, token_type: "mac" } }, 1, /not a bearer token/],
  ];
  for (const [occasion, response, code, message] of ends) {
    it(`exits with ${code} when ${occasion}`, async (t) => {
      const { exit, stdout, stderr, polls } = await signIn(t, [response]);
      assert.deepEqual([exit, stdout, polls], [code, "", 1]);
      assert.match(stderr, message);
    });
  }

  const challenges: [string, object][] = [
    ["a script as its address", { verification_uri: "javascript:alert(1)" }],
    ["a file as its address", { verification_uri: "file:///etc/passwd" }],
    ["no code", { user_code: undefined }],
    ["no expiry", { expires_in: undefined }],
    ["no device code", { device_code: "" }],
  ];
  for (const [label, changes] of challenges) {
    it(`rejects a server response with ${label}`, async (t) => {
      const { exit, stderr, polls } = await signIn(t, [], changes);
      assert.deepEqual([exit, polls], [1, 0]);
      assert.match(stderr, /The device authorization response is incomplete/);
    });
  }

  it("escapes control characters in the code and prints no secret even with --debug", async (t) => {
    const { stderr } = await signIn(t, [signedIn], { user_code: "AB\u001b[2JCD" });
    assert.match(stderr, /enter the code AB\?\[2JCD\n/);
    assert.equal(stderr.includes("device-secret") || stderr.includes('"at"'), false);
    assert.deepEqual(
      stderr.split("\n").filter((line) => line.includes("> {")),
      ['> {"client_id":"cli"}', '> {"grant_type":"[hidden]","device_code":"[hidden]","client_id":"cli"}'],
    );
  });

  it("sends JSON, as the routing service documents", async (t) => {
    const { server } = await signIn(t, [signedIn]);
    assert.deepEqual(
      server.received.map(({ url, headers, body }) => [url, headers["content-type"], JSON.parse(body.toString())]),
      [
        ["/router/v1/oauth2.0/device/code/", "application/json", { client_id: "cli" }],
        [
          "/router/v1/oauth2.0/token/",
          "application/json",
          {
            grant_type: "urn:ietf:params:oauth:grant-type:device_code",
            device_code: "device-secret",
            client_id: "cli",
          },
        ],
      ],
    );
  });
});
