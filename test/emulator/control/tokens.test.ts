import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startEmulator } from "../../../emulator/index.ts";
import { getRequiredRole } from "../../../src/api/operation.ts";
import { registry } from "../../../src/api/registry.ts";
import { hash } from "../../../src/base/hmac.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { createBrowserSession } from "../../support/console.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { createSender, pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startDeviceAuthorization } from "../../support/identity/devices.ts";
import { assertRejected, unknownTokenResponse } from "../../support/rejections.ts";

type Role = "read" | "operate" | "admin";

/** Creates a token with the name, and returns functions that send requests with it. */
async function createToken(emulator: TestEmulator, name: string, role: Role) {
  const { status, body } = await emulator.control("POST", `tokens/${name}`, { body: { role } });
  const { token, ...rest } = body as { token: string };
  assert.deepEqual([status, rest], [201, { name, role }]);
  return { token, send: createSender(emulator.controlUrl, { authorization: `Bearer ${token}` }) };
}

const createTokenHeader = (token: string) => ({ authorization: `Bearer ${token}` });

const createInsufficientRoleResponse = (token: string, role: Role, needs: Role) => ({
  status: 403,
  body: {
    error: {
      code: "insufficient_role",
      message: `The role ${needs} is required. The token ${token} has the role ${role}.`,
      hint: "Request another token from the operator of the emulator: svc emulator tokens create NAME --role ROLE.",
    },
  },
});

const listCallers = async ({ control }: TestEmulator, method: string, path: string) => {
  const { items } = (await control("GET", "requests")).body as {
    items: { method: string; target: string; caller: string | null; status: number }[];
  };
  return items
    .filter((one) => one.method === method && one.target === path)
    .map(({ caller, status }) => [caller, status]);
};

const listTokens = async ({ control }: TestEmulator) =>
  ((await control("GET", "tokens")).body as { name: string; role: Role }[]).map(({ name, role }) => `${name} ${role}`);

/** Opens an event stream and waits for its beginning. `ended` resolves after its end. */
async function openStream(emulator: TestEmulator, headers: Readonly<Record<string, string>>, path = "events") {
  const { status, body } = await fetch(`${emulator.controlUrl}/${path}`, { headers });
  assert.equal(status, 200, path);
  const reader = body!.getReader();
  const readToEnd = async () => {
    while (!(await reader.read()).done);
  };
  return { ended: readToEnd(), leave: () => reader.cancel() };
}

describe("named control plane token", () => {
  it("loses its open event streams on revocation, as a session does at its end", async (t) => {
    const emulator = await startTestEmulator(t);
    const [first, second] = [await createToken(emulator, "one", "read"), await createToken(emulator, "other", "read")];
    const session = await createBrowserSession(emulator);
    await createDraftContract(emulator.api);
    const paths = ["events", "requests/events", "deliveries/events", "traces/T-1/events"];
    const streams = (headers: Readonly<Record<string, string>>) =>
      Promise.all(paths.map((path) => openStream(emulator, headers, path)));
    const [followed, page, otherStream] = [
      await streams(createTokenHeader(first.token)),
      await streams(session.headers),
      await openStream(emulator, createTokenHeader(second.token)),
    ];
    const waiting = first.send("GET", "wait?activity=CONTRACT_SIGNED&timeout_ms=60000");
    await emulator.control("DELETE", "tokens/one");
    await Promise.all(followed.map(({ ended }) => ended));
    assert.deepEqual(pickStatusAndBody(await waiting), unknownTokenResponse);
    await createSender(emulator.controlUrl, session.headers)("DELETE", "sessions");
    await Promise.all(page.map(({ ended }) => ended));
    assert.equal(await Promise.race([otherStream.ended, second.send("GET", "clock").then(() => "goes on")]), "goes on");
    await otherStream.leave();
  });

  it("allows only the operations of its role", async (t) => {
    const emulator = await startTestEmulator(t);
    const [reader, ci, boss] = [
      await createToken(emulator, "reader", "read"),
      await createToken(emulator, "ci", "operate"),
      await createToken(emulator, "boss", "admin"),
    ];
    const move = { body: { by: "PT5M" } };
    assert.equal((await reader.send("GET", "clock")).status, 200);
    assert.deepEqual(
      pickStatusAndBody(await reader.send("POST", "clock/advance", move)),
      createInsufficientRoleResponse("reader", "read", "operate"),
    );
    assert.equal((await ci.send("POST", "clock/advance", move)).status, 200);
    assert.deepEqual(
      pickStatusAndBody(await ci.send("POST", "reset")),
      createInsufficientRoleResponse("ci", "operate", "admin"),
    );
    assert.deepEqual(
      pickStatusAndBody(await ci.send("GET", "tokens")),
      createInsufficientRoleResponse("ci", "operate", "admin"),
    );
    assert.deepEqual(
      pickStatusAndBody(await ci.send("POST", "tokens/more", { body: { role: "admin" } })),
      createInsufficientRoleResponse("ci", "operate", "admin"),
    );
    assert.equal((await boss.send("POST", "reset")).status, 204);
    assert.deepEqual(await listTokens(emulator), ["reader read", "ci operate", "boss admin"]);
  });

  it("saves snapshots with the role operate, but replaces them only with the role admin", async (t) => {
    const emulator = await startTestEmulator(t);
    const [ci, boss] = [await createToken(emulator, "ci", "operate"), await createToken(emulator, "boss", "admin")];
    assert.equal((await ci.send("PUT", "snapshots/base?replace=true")).status, 201);
    assert.deepEqual(
      pickStatusAndBody(await ci.send("PUT", "snapshots/base?replace=true")),
      createInsufficientRoleResponse("ci", "operate", "admin"),
    );
    assert.equal((await ci.send("PUT", "snapshots/base")).status, 409);
    assert.equal((await boss.send("PUT", "snapshots/base?replace=true")).status, 201);
  });

  it("hides the user codes of a workspace from the role read", async (t) => {
    const emulator = await startTestEmulator(t);
    const { user_code } = await startDeviceAuthorization(emulator);
    const body = { status: "AUTHORIZED", email: "ada@northwind.example" };
    assert.equal((await emulator.control("POST", `device-grants/${user_code}`, { body })).status, 200);
    const reader = await createToken(emulator, "reader", "read");
    const routing = (await reader.send("GET", "workspaces/1/routing")).body as { user_codes: string[] };
    assert.deepEqual(routing.user_codes, ["[hidden: requires the role operate]"]);
  });

  it("is bound by the ID of a workspace even if another one has that name", async (t) => {
    const { control } = await startTestEmulator(t);
    const create = async (name: string) =>
      ((await control("POST", "workspaces", { body: { name } })).body as { id: number }).id;
    const nextId = (await create("Team A")) + 2;
    assert.deepEqual([await create(String(nextId)), await create("Team B")], [nextId - 1, nextId]);
    const { body } = await control("POST", "tokens/ci", { body: { role: "read", workspace: String(nextId) } });
    assert.equal((body as { workspace: string }).workspace, "Team B");
  });

  it("is required by every protected operation, with the declared role", async (t) => {
    const emulator = await startTestEmulator(t);
    const { send } = await createToken(emulator, "reader", "read");
    const needs: Record<string, string[]> = { operate: [], admin: [] };
    const allowed: Record<string, string[]> = { operate: [], admin: [] };
    for (const operation of registry.filter(({ service }) => service.name === "emulator")) {
      const role = getRequiredRole(operation);
      assert.equal(role === undefined, operation.auth === "none", operation.id);
      if (role === undefined || role === "read") continue;
      needs[role]!.push(operation.id);
      const path = operation.path.replace("/_emulator/", "").replace(/\{\w+\}/g, "1");
      const { status, body } = await send(String(operation.method), path);
      const words = (body as { error: { message: string } }).error.message;
      if (status === 403 && words.startsWith(`The role ${role} is required.`)) allowed[role]!.push(operation.id);
    }
    assert.deepEqual(allowed, needs);
    assert.deepEqual(needs.admin?.sort(), [
      "emulator.create-workspace",
      "emulator.remove-workspace",
      "emulator.stop",
      "requests.clear",
      "snapshots.remove",
      "snapshots.restore",
      "snapshots.rewind",
      "state.export",
      "state.import",
      "state.reset",
      "tokens.create",
      "tokens.list",
      "tokens.revoke",
    ]);
  });

  it("is rejected immediately after revocation, along with its sessions", async (t) => {
    const emulator = await startTestEmulator(t);
    const { send, token } = await createToken(emulator, "ci", "operate");
    const browser = createSender(
      emulator.controlUrl,
      (await createBrowserSession({ controlUrl: emulator.controlUrl, token })).headers,
    );
    assert.equal((await browser("POST", "clock/advance", { body: { by: "PT1S" } })).status, 200);
    assert.deepEqual(
      pickStatusAndBody(await browser("POST", "reset")),
      createInsufficientRoleResponse("ci", "operate", "admin"),
    );

    assert.equal((await emulator.control("DELETE", "tokens/ci")).status, 204);
    const getResponses = async () => [
      pickStatusAndBody(await send("GET", "clock")),
      pickStatusAndBody(await browser("GET", "clock")),
    ];
    assert.deepEqual(await getResponses(), [unknownTokenResponse, unknownTokenResponse]);
    await createToken(emulator, "ci", "admin");
    assert.deepEqual(await getResponses(), [unknownTokenResponse, unknownTokenResponse]);
  });

  it("is rejected without details if it is wrong", async (t) => {
    const { router } = await startTestEmulator(t);
    const codeFor = async (headers: Readonly<Record<string, string>>) => {
      const { status, body } = await router("GET", "/_emulator/clock", { headers });
      return [status, (body as { error: { code: string } }).error.code];
    };
    assert.deepEqual(await codeFor({ authorization: "Bearer wrong" }), [401, "unknown_token"]);
    const without: Record<string, string>[] = [
      {},
      ...["", "Bearer", "Basic eDp5"].map((authorization) => ({ authorization })),
    ];
    for (const headers of without) {
      assert.deepEqual(await codeFor(headers), [401, "unauthorized"]);
    }
  });

  it("can end its own sessions, and other sessions only as an admin", async (t) => {
    const emulator = await startTestEmulator(t);
    const [one, other, boss] = [
      await createToken(emulator, "one", "read"),
      await createToken(emulator, "other", "read"),
      await createToken(emulator, "boss", "admin"),
    ];
    const signedIn = async ({ token }: { token: string }) =>
      createSender(
        emulator.controlUrl,
        (await createBrowserSession({ controlUrl: emulator.controlUrl, token })).headers,
      );
    const [first, second] = [await signedIn(one), await signedIn(other)];
    const statuses = async () => [(await first("GET", "clock")).status, (await second("GET", "clock")).status];
    await one.send("DELETE", "sessions");
    assert.deepEqual(await statuses(), [401, 200]);
    const body = { role: "admin", workspace: "1" };
    const { token } = (await emulator.control("POST", "tokens/team", { body })).body as { token: string };
    await createSender(emulator.controlUrl, createTokenHeader(token))("DELETE", "sessions");
    assert.deepEqual(await statuses(), [401, 200]);
    await boss.send("DELETE", "sessions");
    assert.deepEqual(await statuses(), [401, 401]);
  });

  it("appears by name in the request log", async (t) => {
    const emulator = await startTestEmulator(t);
    const { send } = await createToken(emulator, "ci", "operate");
    await send("POST", "reset");
    await emulator.control("POST", "clock/advance", { body: { by: "PT1S" } });
    await emulator.router("POST", "/_emulator/clock/advance", { body: { by: "PT1S" } });
    await emulator.api("GET", "/api/v2.1/public/contracts/templates/");
    assert.deepEqual(await listCallers(emulator, "POST", "/_emulator/reset"), [["ci", 403]]);
    assert.deepEqual(await listCallers(emulator, "POST", "/_emulator/clock/advance"), [
      ["local", 200],
      [null, 401],
    ]);
  });

  it("is not created for an unknown workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    const create = () => emulator.control("POST", "tokens/ci", { body: { role: "read", workspace: "Mars" } });
    await assertRejected(emulator, create, {
      status: 404,
      body: {
        error: {
          code: "no_such_workspace_name",
          message: "Workspace Mars not found. Known: Northwind Legal, Contoso Procurement, Fabrikam Sales.",
          hint: "List them with `svc emulator workspaces`.",
        },
      },
    });
  });

  it("requires a unique name in plain characters, different from the run file's token", async (t) => {
    const emulator = await startTestEmulator(t);
    await createToken(emulator, "ci", "read");
    const again = (name: string) =>
      emulator.control("POST", `tokens/${name}`, { body: { role: "read" } }).then(pickStatusAndBody);
    const createTakenResponse = (name: string) => ({
      status: 409,
      body: {
        error: {
          code: "token_name_taken",
          message: `Token ${name} already exists.`,
          hint: "Choose another name, or revoke it first: svc emulator tokens revoke.",
        },
      },
    });
    assert.deepEqual(
      [await again("ci"), await again("local")],
      [createTakenResponse("ci"), createTakenResponse("local")],
    );
    assert.equal((await again("a%20b")).status, 400);
    assert.equal((await emulator.control("POST", "tokens/x", { body: { role: "owner" } })).status, 400);
    assert.deepEqual(pickStatusAndBody(await emulator.control("DELETE", "tokens/nobody")), {
      status: 404,
      body: {
        error: {
          code: "no_such_token",
          message: "Token nobody not found.",
          hint: "List the tokens with svc emulator tokens list.",
        },
      },
    });
    assert.deepEqual(await listTokens(emulator), ["ci read"]);
  });

  it("is random even with --deterministic", async (t) => {
    const tokens = [];
    for (const _ of [1, 2]) {
      const emulator = await startTestEmulator(t, { deterministic: true });
      tokens.push((await createToken(emulator, "ci", "read")).token);
    }
    assert.notEqual(tokens[0], tokens[1]);
  });
});

/** Returns a state that was stored before one token was revoked and another one was created. */
async function createStateBeforeRevocation(t: TestContext) {
  const file = join(await createTestFolder(t), "emulator.json");
  const emulator = await startTestEmulator(t, { file });
  const revoked = await createToken(emulator, "gone", "admin");
  await emulator.control("PUT", "snapshots/prepared");
  const state = (await emulator.control("GET", "state")).body;
  await emulator.control("DELETE", "tokens/gone");
  const validToken = await createToken(emulator, "kept", "admin");
  const statuses = async () => [
    (await revoked.send("GET", "clock")).status,
    (await validToken.send("GET", "clock")).status,
  ];
  return { emulator, file, state, validToken, statuses };
}

describe("named token across state changes", () => {
  it("survives a reset, and stays revoked after a restore, import or rewind", async (t) => {
    const { emulator, state, validToken, statuses } = await createStateBeforeRevocation(t);
    const outcomes: Record<string, unknown> = {};
    const changes = {
      reset: () => validToken.send("POST", "reset"),
      import: () => validToken.send("PUT", "state", { body: state }),
      restore: () => validToken.send("POST", "snapshots/prepared/restore"),
    };
    for (const [name, go] of Object.entries(changes)) {
      const { status } = await go();
      outcomes[name] = [status, ...(await statuses()), ...(await listTokens(emulator))];
    }
    await emulator.control("PUT", "clock", { body: { mode: "manual" } });
    await validToken.send("POST", "clock/advance", { body: { by: "PT5M" } });
    const { status } = await validToken.send("POST", "rewind", { body: { steps: 1 } });
    outcomes.rewind = [status, ...(await statuses()), ...(await listTokens(emulator))];
    const after = [401, 200, "kept admin"];
    assert.deepEqual(outcomes, {
      reset: [204, ...after],
      import: [200, ...after],
      restore: [200, ...after],
      rewind: [200, ...after],
    });
  });

  it("is excluded from the diff of two states", async (t) => {
    const { emulator } = await createStateBeforeRevocation(t);
    const { status, body } = await emulator.control("GET", "snapshots/prepared/diff");
    assert.equal(status, 200);
    assert.equal(JSON.stringify(body).includes("control_tokens"), false);
  });

  it("is not copied with a state", async (t) => {
    const { emulator, validToken, file } = await createStateBeforeRevocation(t);
    const fork = await emulator.fork();
    t.after(() => fork.close());
    await emulator.close();
    const copy = await startEmulator({ from: file });
    t.after(() => copy.close());
    const getStatus = async (url: string) =>
      (await createSender(url, { authorization: `Bearer ${validToken.token}` })("GET", "clock")).status;
    assert.deepEqual([await getStatus(fork.controlUrl), await getStatus(copy.controlUrl)], [401, 401]);
  });

  it("survives a restart with its last use, and is stored as a hash", async (t) => {
    const file = join(await createTestFolder(t), "emulator.json");
    const first = await startTestEmulator(t, { file });
    const { token, send } = await createToken(first, "ci", "read");
    await send("GET", "clock");
    const used = async (emulator: TestEmulator) =>
      ((await emulator.control("GET", "tokens")).body as { last_used_at: string | null }[]).map(
        ({ last_used_at }) => last_used_at !== null,
      );
    assert.deepEqual(await used(first), [true]);
    await first.close();
    const second = await startTestEmulator(t, { file });
    assert.deepEqual(await used(second), [true]);
    assert.equal(
      (await createSender(second.controlUrl, { authorization: `Bearer ${token}` })("GET", "clock")).status,
      200,
    );
    await second.close();
    const text = await readFile(file, "utf8");
    assert.deepEqual([text.includes(token), text.includes(hash("sha256", token).toString("base64"))], [false, true]);
  });
});
