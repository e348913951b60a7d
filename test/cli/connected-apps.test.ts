import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { type CliEmulator, startCliEmulator } from "../support/cli/cli-emulator.ts";
import { ctrlC, enterKey, simulateUser } from "../support/cli/simulated-user.ts";
import { waitUntilIdle } from "../support/rejections.ts";

const secrets = { chatA: "chat-a secret", crmA: "crm-a secret", crmB: "crm-b secret", billing: "billing secret" };
const seed = {
  clusters: [
    { id: "eu-1", label: "eu" },
    { id: "us-1", label: "us" },
  ],
  mappings: {
    chat_a_teams: { "us-1": ["T1"] },
    external_integrations: { "us-1": ["CHAT_B:tenant"] },
    cluster_clients: { "us-1": ["cli"] },
  },
  apps: {
    chat_a: { signing_secret: secrets.chatA },
    crm_a: { client_secret: secrets.crmA },
    crm_b: { consumer_secret: secrets.crmB },
    billing: { username: "billing", password: secrets.billing },
  },
};

/** An emulator with the secrets of the connected apps, and files with these secrets. */
async function startConnectedApps(t: TestContext, options: object = {}): Promise<CliEmulator> {
  const emulator = await startCliEmulator(t, { seed, ...options });
  const files = {
    "event.json": '{"type":"event_callback","team_id":"T1","text":"é"}',
    "payload.txt": `payload=${encodeURIComponent('{"type":"block_actions","team":{"id":"T1"}}')}`,
    "activity.json":
      '{"type":"message","channelId":"msteams","serviceUrl":"https://x.example","channelData":{"tenant":{"id":"tenant"}}}',
    "envelope.json": '{"algorithm":"HMACSHA256","context":{"user":{"fullName":"Ada"}}}',
    "billing.json": '{"content":{"customer":{"id":"us-1_7"}}}',
    // The line break at the end of the file is not part of the secret.
    "chat-a.secret": `${secrets.chatA}\n`,
    "crm-a.secret": secrets.crmA,
    "crm-b.secret": secrets.crmB,
    "billing.secret": `${secrets.billing}\r\n`,
    "wrong.secret": "wrong",
    "empty.secret": "\n",
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(emulator.cwd, name), text);
  return emulator;
}

/** The newest request to us-1, which receives each event. */
async function getNewestRequest({ emulator }: CliEmulator): Promise<string> {
  const { items } = (await emulator.control("GET", "clusters/us-1/inbox")).body as {
    items: { method: string; target: string }[];
  };
  const { method, target } = items.at(-1)!;
  return `${method} ${target}`;
}

const base = "/router/v1/integrations";

describe("svc chat-a", () => {
  const commands = {
    "chat-a event --file event.json": `${base}/chat_a/webhook/event/`,
    "chat-a interaction --file payload.txt": `${base}/chat_a/webhook/interaction`,
    "chat-a options --file payload.txt": `${base}/chat_a/webhook/options`,
    "chat-a destination-event us --file event.json": `${base}/destinations/us/chat_a/webhook/event/`,
    "chat-a destination-interaction us --file payload.txt": `${base}/destinations/us/chat_a/webhook/interaction`,
    "chat-a destination-options us --file payload.txt": `${base}/destinations/us/chat_a/webhook/options`,
  };

  it("signs any request with the secret from a file", async (t) => {
    const emulator = await startConnectedApps(t);
    for (const [command, path] of Object.entries(commands)) {
      const expected = path.endsWith("/options") ? { options: [] } : {};
      assert.deepEqual(await emulator.json(`${command} --signing-secret-file chat-a.secret`), expected, command);
      assert.equal(await getNewestRequest(emulator), `POST ${path}`);
    }
  });

  it("signs with the secret from the environment and the header prefix of another app", async (t) => {
    const emulator = await startConnectedApps(t);
    const env = { SVC_CHAT_A_SIGNING_SECRET: secrets.chatA };
    const command = "chat-a event --file event.json --header-prefix x-other";
    assert.deepEqual(await emulator.json(command, { env }), {});
    assert.equal(await getNewestRequest(emulator), `POST ${base}/chat_a/webhook/event/`);
  });

  it("rejects a missing or wrong secret", async (t) => {
    const { svc } = await startConnectedApps(t);
    for (const flags of ["", " --signing-secret-file wrong.secret"]) {
      const { exit, stdout, stderr } = await svc(`chat-a event --file event.json${flags}`);
      assert.deepEqual([exit, stdout], [4, ""]);
      const hint = "Check the app's signing secret: --signing-secret-file, or SVC_CHAT_A_SIGNING_SECRET.";
      assert.equal(stderr, `error: Invalid request signature (HTTP 401)\n  ${hint}\n`);
    }
  });

  it("prints no secret and no signature in a dry run", async (t) => {
    const { svc } = await startConnectedApps(t);
    const { exit, stdout, stderr } = await svc(
      "chat-a event --file event.json --signing-secret-file chat-a.secret --dry-run --json",
    );
    assert.equal(exit, 0);
    assert.deepEqual(Object.entries((JSON.parse(stdout) as { headers: object }).headers).slice(-2), [
      ["x-chat-a-request-timestamp", "[hidden]"],
      ["x-chat-a-signature", "[hidden]"],
    ]);
    assert.ok(!`${stdout}${stderr}`.includes(secrets.chatA));
  });

  it("rejects an empty secret and two inputs from standard input", async (t) => {
    const { svc } = await startConnectedApps(t);
    assert.equal((await svc("chat-a event --file event.json --signing-secret-file empty.secret")).exit, 2);
    assert.equal((await svc("chat-a event --file - --signing-secret-file -", { stdin: "x" })).exit, 2);
    assert.equal((await svc("chat-a event --file event.json --signing-secret-file none")).exit, 2);
  });
});

describe("app installation by command line", () => {
  it("starts for chat_a, prints the URL, redeems the code once and maps the team", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    const result = await svc("emulator installations begin chat_a --workspace-id 3");
    assert.equal(result.exit, 0);
    assert.ok(result.stdout.includes(`${emulator.routerUrl}/_emulator/provider?flow=install&provider=chat_a&state=`));

    const installation = await json("emulator installations begin chat_a --workspace-id 3 --approve-as T-NEW");
    const { code, state } = installation as { code: string; state: string };
    const redirect = `chat-a oauth-redirect default --code ${code} --state ${state}`;
    const account = { id: "T-NEW", name: "T-NEW" };
    assert.deepEqual(await json(redirect), { cluster_id: "us-1", workspace_id: 3, app: "chat_a", account });
    const secondResult = await svc(redirect);
    assert.equal(secondResult.exit, 5);
    assert.match(secondResult.stderr, /Unknown or used state/);
    await waitUntilIdle(emulator);
    assert.deepEqual(await json("emulator owners --identifier T-NEW"), [
      { table: "chat_a_teams", key: "T-NEW", cluster_id: "us-1" },
    ]);
    const rows = await json("emulator installations --fields app,workspace_id,status,account.id");
    assert.deepEqual(rows, [
      { app: "chat_a", workspace_id: 3, status: "INSTALLED", "account.id": "T-NEW" },
      { app: "chat_a", workspace_id: 3, status: "PENDING", "account.id": null },
    ]);
  });

  it("exits when the user denies the installation", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const { state } = (await json("emulator installations begin ProviderC")) as { state: string };
    const { exit, stderr } = await svc(`auth external-redirect ProviderC --error access_denied --state ${state}`);
    assert.equal(exit, 1);
    assert.match(stderr, /The installation was denied: access_denied/);
  });
});

describe("svc chat-b messaging", () => {
  const messaging = "chat-b messaging --file activity.json";

  it("lets the emulator issue a token for the activity", async (t) => {
    const emulator = await startConnectedApps(t);
    assert.deepEqual(await emulator.json(`${messaging} --mint`), {});
    assert.equal(await getNewestRequest(emulator), `POST ${base}/chat_b/webhook/messaging`);
  });

  it("accepts a token from a file or the environment", async (t) => {
    const { json, svc, cwd } = await startConnectedApps(t);
    const { token } = await json<{ token: string }>("emulator chat-b token --service-url https://x.example");
    await writeFile(join(cwd, "token.txt"), token);
    assert.deepEqual(await json(`${messaging} --token-file token.txt`), {});
    assert.equal((await svc(messaging, { env: { SVC_CHAT_B_TOKEN: token } })).exit, 0);
  });

  it("requests no token in a dry run", async (t) => {
    const { svc, emulator } = await startConnectedApps(t);
    const { exit, stdout } = await svc(`${messaging} --mint --dry-run --json`);
    const { headers } = JSON.parse(stdout) as { headers: Record<string, string> };
    assert.deepEqual([exit, headers.authorization], [0, "[hidden]"]);
    const { items } = (await emulator.control("GET", "requests")).body as { items: { operation: string }[] };
    assert.deepEqual(
      items.filter(({ operation }) => operation === "chat-b-issuer.mint"),
      [],
    );
  });

  it("rejects a request without a token", async (t) => {
    const { svc } = await startConnectedApps(t);
    const { exit, stderr } = await svc(messaging);
    assert.equal(exit, 4);
    assert.match(stderr, /Invalid bot-framework token/);
    assert.equal((await svc(`${messaging} --mint --token-file token.txt`)).exit, 2);
  });
});

describe("svc crm-a", () => {
  it("signs every version, including the query", async (t) => {
    const { json, svc } = await startConnectedApps(t);
    for (const version of ["v1", "v2", "v3"]) {
      const response = await json([
        ...["crm-a", "cards", "--query", "associatedObjectId=245", "--query", "name=A & B: 50%"],
        ...["--client-secret-file", "crm-a.secret", "--signature-version", version],
      ]);
      assert.deepEqual(response, { results: [] }, version);
    }
    assert.equal((await svc("crm-a cards --query x --client-secret-file crm-a.secret")).exit, 2);
  });

  it("sends every value of a repeated parameter", async (t) => {
    const { svc, emulator } = await startConnectedApps(t);
    const query = "--query client_id=cli --query id=1 --query id=2 --query id=3";
    assert.equal((await svc(`crm-a cards ${query} --client-secret-file crm-a.secret`)).exit, 0);
    const { items } = (await emulator.control("GET", "requests?limit=1")).body as { items: { target: string }[] };
    const names = [...new URL(items[0]!.target, "http://localhost").searchParams.keys()];
    assert.deepEqual(names, ["client_id", "id", "id", "id"]);
  });

  it("prints a page unchanged, so that it can be written to a file", async (t) => {
    const { svc, emulator } = await startConnectedApps(t);
    const { body } = await emulator.router("GET", "/router/v1/crm_b/");
    assert.deepEqual(await svc("crm-b canvas"), { exit: 0, stdout: body, stderr: "" });
    assert.deepEqual(JSON.parse((await svc("crm-b canvas --json")).stdout), body);
  });

  it("prints the page of the app or the URL of the contract's page", async (t) => {
    const { svc, emulator } = await startConnectedApps(t);
    const signed = "--query client_id=cli --client-secret-file crm-a.secret";
    const page = await svc(`crm-a iframe ${signed}`);
    assert.equal(page.exit, 0);
    assert.match(page.stdout, /^<!doctype html>[\s\S]*<dd>us-1<\/dd>/);
    assert.deepEqual(await svc(`crm-a iframe --contract-id T-17 ${signed}`), {
      exit: 0,
      stdout: `${emulator.clusters[1]!.url}/contracts/T-17\n`,
      stderr: "",
    });
  });

  it("signs the public URL of an emulator or the given one", async (t) => {
    const { svc } = await startConnectedApps(t, { publicUrl: "https://router.example" });
    const command = "crm-a iframe --client-secret-file crm-a.secret";
    assert.equal((await svc(`${command} --public-url https://router.example`)).exit, 0);
    assert.equal((await svc(command)).exit, 0);
    assert.equal((await svc(`${command} --public-url https://other.example`)).exit, 4);
  });

  it("requires the secret", async (t) => {
    const { svc } = await startConnectedApps(t);
    assert.equal((await svc("crm-a cards")).exit, 4);
    assert.equal((await svc("crm-a cards", { env: { SVC_CRM_A_CLIENT_SECRET: secrets.crmA } })).exit, 0);
  });
});

describe("svc crm-b", () => {
  it("signs an envelope, including an empty envelope", async (t) => {
    const { svc } = await startConnectedApps(t);
    const page = await svc("crm-b open --envelope envelope.json --consumer-secret-file crm-b.secret");
    assert.equal(page.exit, 0, page.stderr);
    assert.match(page.stdout, /<dd>Ada<\/dd>/);
    assert.equal((await svc("crm-b open", { env: { SVC_CRM_B_CONSUMER_SECRET: secrets.crmB } })).exit, 0);
  });

  it("asks at a terminal only for the secret, unless the environment has it", async (t) => {
    const { svc } = await startConnectedApps(t);
    const ada = simulateUser(["Consumer secret file", `crm-b.secret${enterKey}`]);
    assert.deepEqual([(await svc("crm-b open", ada)).exit, ada.waiting()], [0, []]);
    const env = { SVC_CRM_B_CONSUMER_SECRET: secrets.crmB };
    assert.equal((await svc("crm-b open", { ...simulateUser([":", ctrlC]), env })).exit, 0);
  });

  it("sends a signed request unchanged and rejects two signed requests", async (t) => {
    const { svc } = await startConnectedApps(t);
    const { exit, stderr } = await svc("crm-b open --signed-request x.y");
    assert.equal(exit, 4);
    assert.match(stderr, /Invalid signed request/);
    assert.equal((await svc("crm-b open --signed-request x.y --envelope envelope.json")).exit, 2);
    for (const line of ["crm-b open --envelope envelope.json", "crm-b open"]) {
      const unsigned = await svc(line);
      assert.deepEqual(
        [unsigned.exit, unsigned.stderr.split("\n")[0]],
        [2, "error: --consumer-secret-file is required, or the secret in SVC_CRM_B_CONSUMER_SECRET"],
      );
    }
  });

  it("shows the canvas", async (t) => {
    const { svc } = await startConnectedApps(t);
    assert.match((await svc("crm-b canvas")).stdout, /<h1>Contracts in crm_b<\/h1>/);
  });
});

describe("svc billing event", () => {
  it("accepts the credentials as a user name and a password file", async (t) => {
    const emulator = await startConnectedApps(t);
    const command = "billing event --data billing.json --username billing --password-file billing.secret";
    assert.deepEqual(await emulator.json(command), {});
    assert.equal(await getNewestRequest(emulator), "POST /router/v1/billing/webhook");
  });

  it("accepts the credentials from the environment, overridden by flags", async (t) => {
    const { svc } = await startConnectedApps(t);
    const command = "billing event --data billing.json";
    assert.equal((await svc(command, { env: { SVC_BASIC_AUTH: `billing:${secrets.billing}` } })).exit, 0);
    const env = { SVC_BASIC_AUTH: "billing:wrong", SVC_BILLING_PASSWORD: secrets.billing };
    assert.equal((await svc(`${command} --username billing`, { env })).exit, 0);
    assert.equal((await svc(command, { env })).exit, 4);
  });

  it("requires both user name and password", async (t) => {
    const { svc } = await startConnectedApps(t);
    assert.equal((await svc("billing event --data billing.json --username billing")).exit, 2);
    assert.equal((await svc("billing event --data billing.json --password-file billing.secret")).exit, 2);
    assert.equal((await svc("billing event --data billing.json")).exit, 4);
  });
});

describe("a rejected request of a connected app", () => {
  for (const [command, hint] of [
    ["chat-a event --file event.json", "--signing-secret-file"],
    ["chat-b messaging --file activity.json", "--token-file"],
    ["crm-a cards", "--client-secret-file"],
    ["crm-b open --signed-request x.y", "--consumer-secret-file"],
    ["billing event --data billing.json --username billing --password-file wrong.secret", "--password-file"],
    ["oidc token --grant-type refresh_token --refresh-token eu-1_x --client-id nobody", "client ID"],
  ] as const) {
    it(`names the credentials of svc ${command.split(" -", 1)[0]}`, async (t) => {
      const { svc } = await startConnectedApps(t);
      const { exit, stderr } = await svc(command);
      assert.deepEqual([exit, stderr.includes(hint), stderr.includes("SVC_CLIENT_ID")], [4, true, false], stderr);
    });
  }
});
