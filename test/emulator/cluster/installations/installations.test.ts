import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSender, pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { getHiddenFields } from "../../../support/identity/forms.ts";
import { listFindings } from "../../../support/identity/sign-in.ts";
import { assertRejected, waitUntilIdle } from "../../../support/rejections.ts";

const form = { "content-type": "application/x-www-form-urlencoded" };

interface Begun {
  readonly id: number;
  readonly state: string;
  readonly authorization_url: string;
  readonly redirect_url: string | null;
}

const begin = async ({ control }: TestEmulator, app: string, body: object = {}): Promise<Begun> => {
  const response = await control("POST", `installations/${app}`, { body });
  assert.equal(response.status, 201, JSON.stringify(response.body));
  return response.body as Begun;
};

/** Submits the provider's page and returns the target of its redirect at the router. */
async function submit(emulator: TestEmulator, url: string, fields: Readonly<Record<string, string>>): Promise<string> {
  const page = String((await emulator.router("GET", url.slice(emulator.routerUrl.length))).body);
  const body = String(new URLSearchParams({ ...getHiddenFields(page), ...fields }));
  const response = await emulator.router("POST", "/_emulator/provider", { body, headers: form });
  assert.equal(response.status, 303, String(response.body));
  return response.headers.get("location")!.slice(emulator.routerUrl.length);
}

const listInstallations = async ({ control }: TestEmulator) =>
  ((await control("GET", "installations")).body as { items: { id: number; status: string; account: unknown }[] }).items;

const listOwners = async ({ control }: TestEmulator, team: string) =>
  ((await control("GET", `owners?identifier=${team}`)).body as { cluster_id: string }[]).map(
    ({ cluster_id }) => cluster_id,
  );

const unknownState = { status: 404, body: { detail: "Unknown or used state" } };
const withinDefault = "/router/v1/integrations/destinations/default/chat_a/oauth_redirect";

describe("chat_a installation", () => {
  for (const [workspace_id, cluster] of [
    [1, "eu-1"],
    [3, "us-1"],
  ] as const) {
    it(`redeems the state once, only at ${cluster}, and maps the team`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { state, authorization_url } = await begin(emulator, "chat_a", { workspace_id });
      const back = await submit(emulator, authorization_url, { team_id: "T-NEW", name: "Newcomers" });
      assert.match(
        back,
        /^\/router\/v1\/integrations\/destinations\/default\/chat_a\/oauth_redirect\?code=[\w-]+&state=/,
      );
      assert.equal(new URLSearchParams(back.split("?")[1]).get("state"), state);
      assert.doesNotMatch(state, /^(?:eu|us)-1_/, "the router cannot know whose it is");

      const otherClusters = emulator.clusters.filter(({ id }) => id !== cluster);
      for (const { url } of otherClusters)
        assert.deepEqual(pickStatusAndBody(await createSender(url)("GET", back)), unknownState);
      assert.deepEqual(pickStatusAndBody(await emulator.router("GET", back)), {
        status: 200,
        body: { cluster_id: cluster, workspace_id, app: "chat_a", account: { id: "T-NEW", name: "Newcomers" } },
      });
      await waitUntilIdle(emulator);
      assert.deepEqual(await listOwners(emulator, "T-NEW"), [cluster]);
      await assertRejected(emulator, () => emulator.router("GET", back), unknownState);

      const event = { type: "event_callback", team_id: "T-NEW", event: { type: "app_mention" } };
      await emulator.router("POST", "/router/v1/integrations/chat_a/webhook/event/", { body: event });
      for (const { id } of emulator.clusters) {
        const { items } = (await emulator.control("GET", `clusters/${id}/inbox`)).body as {
          items: { target: string }[];
        };
        const events = items.filter(({ target }) => target.endsWith("/event/"));
        assert.equal(events.length, id === cluster ? 1 : 0, id);
      }
    });
  }

  it("rejects a missing or unknown state and an unknown code", async (t) => {
    const emulator = await startTestEmulator(t);
    const { state } = await begin(emulator, "chat_a");
    for (const query of ["", "?code=c0de", "?code=c0de&state=guess", "?error=access_denied", "?state=eu-1_x"]) {
      await assertRejected(emulator, () => emulator.router("GET", withinDefault + query), unknownState);
    }
    for (const query of [`?state=${state}`, `?state=${state}&code=guess`]) {
      await assertRejected(emulator, () => emulator.router("GET", withinDefault + query), {
        status: 400,
        body: { detail: "Unknown or used code" },
      });
    }
    assert.deepEqual(
      (await listInstallations(emulator)).map(({ status }) => status),
      ["PENDING"],
    );
  });

  it("maps no team if the user denies the installation", async (t) => {
    const emulator = await startTestEmulator(t);
    // The error comes from the cluster that started the installation, not from the first one.
    const { authorization_url } = await begin(emulator, "chat_a", { workspace_id: 3 });
    const back = await submit(emulator, authorization_url, { decision: "deny", team_id: "T-NEW" });
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", back)), {
      status: 400,
      body: { detail: "The installation was denied: access_denied" },
    });
    const formatRejection = (detail: string) => [{ code: "installation-refused", detail }];
    assert.deepEqual(await listFindings(emulator, "eu-1"), formatRejection("Unknown or used state"));
    assert.deepEqual(
      await listFindings(emulator, "us-1"),
      formatRejection("The installation was denied: access_denied"),
    );
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", back)), unknownState);
    await waitUntilIdle(emulator);
    assert.deepEqual(await listOwners(emulator, "T-NEW"), []);
  });

  it("rejects a code of another provider", async (t) => {
    const emulator = await startTestEmulator(t);
    const theirs = await begin(emulator, "ProviderA", { approve_as: "ada@northwind.example" });
    const code = new URL(theirs.redirect_url!).searchParams.get("code");
    const { state } = await begin(emulator, "chat_a");
    await assertRejected(emulator, () => emulator.router("GET", `${withinDefault}?code=${code}&state=${state}`), {
      status: 400,
      body: { detail: "Unknown or used code" },
    });
  });

  it("redirects to a destination of the cluster", async (t) => {
    const seed = {
      clusters: [
        { id: "eu-1", label: "eu", destinations: ["europe"] },
        { id: "us-1", label: "us" },
      ],
      workspaces: [
        { id: 1, cluster_id: "eu-1", name: "W", acting_user_id: 1, organization_types: [], jurisdictions: [] },
      ],
      users: [{ id: 1, workspace_id: 1, name: "Ada", email: "ada@northwind.example" }],
    };
    const emulator = await startTestEmulator(t, { seed });
    const { authorization_url, redirect_url } = await begin(emulator, "chat_a", { approve_as: "T1" });
    assert.match(redirect_url!, /\/destinations\/europe\/chat_a\/oauth_redirect\?/);
    assert.match(await submit(emulator, authorization_url, { team_id: "T1" }), /\/destinations\/europe\/chat_a\//);
  });

  it("maps the team to its last installation until the workspace is deleted", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = (await emulator.control("POST", "workspaces", { body: { name: "Team A" } })).body as { id: number };
    for (const workspace_id of [3, 1, id]) {
      const { redirect_url } = await begin(emulator, "chat_a", { workspace_id, approve_as: "T-NEW" });
      assert.equal((await emulator.router("GET", redirect_url!.slice(emulator.routerUrl.length))).status, 200);
      await waitUntilIdle(emulator);
    }
    assert.deepEqual(await listOwners(emulator, "T-NEW"), ["eu-1"]);
    await emulator.control("DELETE", "workspaces/1");
    assert.deepEqual(await listOwners(emulator, "T-NEW"), ["eu-1"], "another workspace of the cluster has it, too");
    await emulator.control("DELETE", `workspaces/${id}`);
    assert.deepEqual(await listOwners(emulator, "T-NEW"), []);
    assert.equal((await listInstallations(emulator)).length, 1);
  });
});

describe("installation of an external provider", () => {
  for (const app of ["ProviderA", "ProviderB", "ProviderC"]) {
    it(`connects an account at ${app} once, only at the cluster that started it`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { id, state, authorization_url } = await begin(emulator, app, { workspace_id: 3 });
      assert.match(state, /^us-1_/);
      const back = await submit(emulator, authorization_url, { email: "eli@fabrikam.example", name: "Eli" });
      assert.match(back, new RegExp(`^/router/v1/oauth2\\.0/external/${app}/redirect\\?code=`));
      assert.deepEqual(pickStatusAndBody(await createSender(emulator.clusters[0]!.url)("GET", back)), unknownState);
      const account = { id: "eli@fabrikam.example", name: "Eli" };
      assert.deepEqual(pickStatusAndBody(await emulator.router("GET", back)), {
        status: 200,
        body: { cluster_id: "us-1", workspace_id: 3, app, account },
      });
      await assertRejected(emulator, () => emulator.router("GET", back), unknownState);
      const at = "2031-01-02T03:04:05.000Z";
      const row = { id, app, cluster_id: "us-1", workspace_id: 3, status: "INSTALLED", account };
      assert.deepEqual(await listInstallations(emulator), [{ ...row, begun_at: at, ended_at: at }]);
    });
  }

  it("rejects an invalid state, another provider, and a failed sign-in", async (t) => {
    const emulator = await startTestEmulator(t);
    const { state, redirect_url } = await begin(emulator, "ProviderA", { approve_as: "ada@northwind.example" });
    const redirect = (provider: string, query: string) => () =>
      emulator.router("GET", `/router/v1/oauth2.0/external/${provider}/redirect${query}`);
    for (const query of ["", "?code=c", "?code=c&state=eu-1_guess", "?code=c&state=guess", "?error=access_denied"]) {
      await assertRejected(emulator, redirect("ProviderA", query), unknownState);
    }
    await assertRejected(emulator, redirect("ProviderB", new URL(redirect_url!).search), unknownState);
    assert.deepEqual(pickStatusAndBody(await redirect("ProviderA", `?error=server_error&state=${state}`)()), {
      status: 400,
      body: { detail: "The installation was denied: server_error" },
    });
    await assertRejected(emulator, redirect("ProviderA", new URL(redirect_url!).search), unknownState);
  });
});

describe("starting an installation on the control plane", () => {
  it("requires an existing workspace and an installable app", async (t) => {
    const emulator = await startTestEmulator(t);
    await assertRejected(
      emulator,
      () => emulator.control("POST", "installations/chat_a", { body: { workspace_id: 99 } }),
      {
        status: 404,
        body: {
          error: {
            code: "no_such_workspace",
            message: "Workspace 99 not found.",
            hint: "List them with `svc emulator workspaces`.",
          },
        },
      },
    );
    assert.equal((await emulator.control("POST", "installations/chat_b", { body: {} })).status, 400);
  });

  it("prompts for the team or account, again after invalid input", async (t) => {
    const emulator = await startTestEmulator(t);
    const { authorization_url } = await begin(emulator, "chat_a");
    const page = String((await emulator.router("GET", authorization_url.slice(emulator.routerUrl.length))).body);
    assert.match(page, /<h1>Connect chat_a<\/h1>/);
    const body = String(new URLSearchParams({ ...getHiddenFields(page), team_id: " ", name: "N" }));
    const secondResponse = await emulator.router("POST", "/_emulator/provider", { body, headers: form });
    assert.deepEqual(
      [secondResponse.status, /The team ID must not be empty or contain spaces/.test(String(secondResponse.body))],
      [200, true],
    );
  });
});
