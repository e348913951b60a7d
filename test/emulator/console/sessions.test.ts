import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { ConsoleSessions } from "../../../emulator/control/console/sessions.ts";
import { createSeededIds } from "../../../src/base/ids.ts";
import { ManualWallClock } from "../../support/clocks/manual-wall-clock.ts";
import { createBrowserSession } from "../../support/console.ts";
import { createSender, pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { unknownTokenResponse } from "../../support/rejections.ts";

const invalidCodeResponse = {
  status: 403,
  body: {
    error: {
      code: "invalid_session_code",
      message: "The sign-in code is invalid. Codes work once, within a minute.",
      hint: "Run `svc emulator open` for a new code.",
    },
  },
};

const unauthorizedResponse = {
  status: 401,
  body: {
    error: {
      code: "unauthorized",
      message: "The control plane requires `authorization: Bearer <token>`.",
      hint: "Use the token that `svc emulator start` prints and the run file next to the state contains.",
    },
  },
};

async function createSignInCode({ control }: TestEmulator): Promise<string> {
  return ((await control("POST", "sessions/codes")).body as { code: string }).code;
}

const begin = ({ router }: TestEmulator, code: string, headers: Readonly<Record<string, string>> = {}) =>
  router("POST", "/_emulator/sessions", { body: { code }, headers });

const owner = { name: "local", role: "admin", hash: undefined } as const;

/** Requests of a signed-in browser. */
async function signInBrowser(emulator: TestEmulator) {
  const { token, headers } = await createBrowserSession(emulator);
  return { token, headers, ask: createSender(emulator.controlUrl, headers) };
}

const startSignedInBrowser = async (t: TestContext) => {
  const emulator = await startTestEmulator(t);
  return { emulator, browser: await signInBrowser(emulator) };
};

describe("console session", () => {
  it("is created with a code and has the permissions of the control token", async (t) => {
    const emulator = await startTestEmulator(t);
    const response = await emulator.control("POST", "sessions/codes");
    const { code, ...rest } = response.body as { code: string };
    assert.deepEqual(
      [response.status, rest],
      [201, { url: `${emulator.controlUrl}/ui/#code=${code}`, expires_in: 60 }],
    );

    const { status, body, headers } = await begin(emulator, code);
    const { token, ...about } = body as { token: string };
    assert.deepEqual([status, about], [201, { role: "admin", instance_id: emulator.instanceId }]);
    const [, cookie = "", ...attributes] =
      /^(svc_console_[0-9a-f]{16}=[\w-]{43}); (.*)$/.exec(headers.get("set-cookie")!) ?? [];
    assert.deepEqual(attributes, ["Max-Age=43200; HttpOnly; SameSite=Strict"]);
    assert.equal(headers.get("cache-control"), "no-store");

    const send = createSender(emulator.controlUrl, { authorization: `Bearer ${token}`, cookie });
    assert.deepEqual(
      await send("GET", "clock").then(pickStatusAndBody),
      await emulator.control("GET", "clock").then(pickStatusAndBody),
    );
    assert.equal((await send("POST", "clock/advance", { body: { by: "PT5M" } })).status, 200);
  });

  it("rejects a used or unknown code", async (t) => {
    const emulator = await startTestEmulator(t);
    const code = await createSignInCode(emulator);
    assert.equal((await begin(emulator, code)).status, 201);
    assert.deepEqual(await begin(emulator, code).then(pickStatusAndBody), invalidCodeResponse);
    assert.deepEqual(await begin(emulator, "made-up").then(pickStatusAndBody), invalidCodeResponse);
    assert.deepEqual(await begin(emulator, emulator.token).then(pickStatusAndBody), invalidCodeResponse);
  });

  it("rejects a code older than a minute of wall-clock time", async () => {
    const wall = new ManualWallClock();
    const sessions = new ConsoleSessions(createSeededIds("sessions"), wall);
    const [expiredCode, inTime] = [sessions.createCode(owner), sessions.createCode(owner)];
    await wall.pass(59_999);
    const { token, key } = sessions.begin(inTime)!;
    await wall.pass(1);
    assert.deepEqual(
      [sessions.findOpener(token, key), sessions.begin(expiredCode), sessions.begin(expiredCode)],
      [owner, undefined, undefined],
    );
  });

  it("rejects another origin and a rebound host name", async (t) => {
    const emulator = await startTestEmulator(t);
    const code = await createSignInCode(emulator);
    const { host } = new URL(emulator.routerUrl);
    const tries: Readonly<Record<string, string>>[] = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: `http://${host.replace(/\d+$/, "1")}` },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ];
    for (const headers of tries)
      assert.equal((await begin(emulator, code, headers)).status, 403, JSON.stringify(headers));
    const honest = { origin: emulator.routerUrl, "sec-fetch-site": "same-origin" };
    assert.equal((await begin(emulator, code, honest)).status, 201, "none of them used it up");
  });

  it("rejects pages of other sites", async (t) => {
    const { emulator, browser } = await startSignedInBrowser(t);
    const get = (headers: Readonly<Record<string, string>>) => browser.ask("GET", "clock", { headers });
    assert.equal((await get({ origin: "https://evil.example" })).status, 403);
    assert.equal((await get({ "sec-fetch-site": "same-site" })).status, 403);
    const { authorization, cookie } = browser.headers;
    const response = await emulator.router("GET", "/_emulator/clock", { headers: { cookie } });
    assert.deepEqual(pickStatusAndBody(response), unauthorizedResponse, "no cookie counts alone");
    for (const badHeaders of [
      { cookie: "" },
      { cookie: `${cookie}x` },
      { cookie: (await createBrowserSession(emulator)).headers.cookie },
    ]) {
      const half = await emulator.router("GET", "/_emulator/clock", { headers: { authorization, ...badHeaders } });
      assert.deepEqual(pickStatusAndBody(half), unknownTokenResponse, "nor what the page has");
    }
    const inUrl = await emulator.router("GET", `/_emulator/clock?token=${browser.token}`);
    assert.deepEqual(pickStatusAndBody(inUrl), unauthorizedResponse, "nor an address");
  });

  it("ends on its own request without ending other sessions", async (t) => {
    const { emulator, browser } = await startSignedInBrowser(t);
    const otherSession = await signInBrowser(emulator);
    assert.equal((await browser.ask("DELETE", "sessions")).status, 204);
    assert.deepEqual(await browser.ask("GET", "clock").then(pickStatusAndBody), unknownTokenResponse);
    assert.equal((await otherSession.ask("GET", "clock")).status, 200);
  });

  it("ends with all others and every code when the control token's owner requests it", async (t) => {
    const { emulator, browser } = await startSignedInBrowser(t);
    const code = await createSignInCode(emulator);
    assert.equal((await emulator.control("DELETE", "sessions")).status, 204);
    assert.deepEqual(await browser.ask("GET", "clock").then(pickStatusAndBody), unknownTokenResponse);
    assert.deepEqual(await begin(emulator, code).then(pickStatusAndBody), invalidCodeResponse);
  });

  it("ends when the emulator closes, together with its codes", async (t) => {
    const token = "the-same-for-both";
    const first = await startTestEmulator(t, { token });
    const browser = await signInBrowser(first);
    const code = await createSignInCode(first);
    await first.close();
    const next = await startTestEmulator(t, { token });
    const send = createSender(next.controlUrl, browser.headers);
    assert.deepEqual(await send("GET", "clock").then(pickStatusAndBody), unknownTokenResponse);
    assert.deepEqual(await begin(next, code).then(pickStatusAndBody), invalidCodeResponse);
  });

  it("does not appear in any log", async (t) => {
    const { emulator, browser } = await startSignedInBrowser(t);
    const code = await createSignInCode(emulator);
    await begin(emulator, code);
    await browser.ask("GET", "clock");
    const log = JSON.stringify((await emulator.control("GET", "requests")).body);
    const state = JSON.stringify((await emulator.control("GET", "state")).body);
    assert.deepEqual(
      [code, browser.token, browser.headers.cookie.split("=")[1]!].map(
        (secret) => log.includes(secret) || state.includes(secret),
      ),
      [false, false, false],
    );
  });

  it("ends when a token exceeds fifty sessions, oldest first", () => {
    const sessions = new ConsoleSessions(createSeededIds("sessions"), new ManualWallClock());
    const reader = { name: "reader", role: "read", hash: "h" } as const;
    const admin = sessions.begin(sessions.createCode(owner))!;
    const waiting = sessions.createCode(owner);
    const otherSessions = Array.from({ length: 51 }, () => sessions.begin(sessions.createCode(reader))!);
    for (let i = 0; i < 21; i += 1) sessions.createCode(reader);
    assert.deepEqual(
      [admin, otherSessions[0]!, otherSessions[1]!, otherSessions[50]!].map(({ token, key }) =>
        sessions.findOpener(token, key),
      ),
      [owner, undefined, reader, reader],
    );
    assert.equal(sessions.begin(waiting)?.role, "admin");
  });

  it("ends after twelve hours of wall-clock time", async () => {
    const wall = new ManualWallClock();
    const sessions = new ConsoleSessions(createSeededIds("sessions"), wall);
    const { token, key } = sessions.begin(sessions.createCode(owner))!;
    await wall.pass(12 * 3_600_000 - 1);
    const before = sessions.findOpener(token, key);
    await wall.pass(1);
    assert.deepEqual(
      [before, sessions.findOpener(token, key), sessions.getExpiryMs(token)],
      [owner, undefined, undefined],
    );
  });
});
