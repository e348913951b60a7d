import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { signCrmA } from "../../../../src/schemes/connected-apps.ts";
import { createDraftContract } from "../../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";

const iframe = "/router/v1/crm_a/iframe";
const cards = "/router/v1/crm_a/cards";
const deal = "associatedObjectId=9&associatedObjectType=DEAL";
const acting = "userEmail=ada%40northwind.example";

/** Creates a function that sends requests as crm_a does, signed with the secret of the demo seed. */
function createCrmSender({ router, routerUrl }: TestEmulator) {
  return (target: string) =>
    router("GET", target, {
      headers: {
        "x-crm-a-signature-version": "v2",
        "x-crm-a-signature": signCrmA({
          version: "v2",
          clientSecret: "demo-crm-a-secret",
          method: "GET",
          url: routerUrl + target,
          body: "",
          timestamp: "",
        }),
      },
    });
}

interface Card {
  readonly title: string;
  readonly link: string;
  readonly actions: readonly { readonly uri: string }[];
}
interface Cards {
  readonly results: readonly Card[];
  readonly primaryAction?: { readonly uri: string };
}

async function startCrm(t: TestContext) {
  const emulator = await startTestEmulator(t);
  const get = createCrmSender(emulator);
  return {
    emulator,
    get,
    cluster: emulator.clusters[0]!.url,
    /** A contract of a CRM record, found by the lookup of `external-metadata`. */
    contractOf: (id: string, overrides: object = {}, name = `Of ${id}`) =>
      createDraftContract(emulator.api, { contract_name: name, external_metadata: { id, ...overrides } }),
    cards: async (query: string, who = acting) => (await get(`${cards}?${query}&${who}`)).body as Cards,
  };
}

describe("crm_a card list for a record", () => {
  it("shows a card for each contract that names the record, with a working link", async (t) => {
    const { get, cluster, contractOf } = await startCrm(t);
    const { id, number } = await contractOf("9", { record_type: "deal" }, "<b>Lease</b>");
    const page = `${cluster}/contracts/${id}`;
    const frame = (label: string, uri: string) => ({ type: "IFRAME", width: 890, height: 748, uri, label });
    const response = await get(`${cards}?${deal}&${acting}`);
    assert.deepEqual(pickStatusAndBody(response), {
      status: 200,
      body: {
        results: [
          {
            objectId: number,
            title: "<b>Lease</b>",
            link: page,
            properties: [
              { label: "Contract", dataType: "STRING", value: id },
              { label: "Status", dataType: "STRING", value: "DRAFT" },
            ],
            actions: [frame("Open the contract", page)],
          },
        ],
        primaryAction: frame("Open contracts", `${cluster}${iframe}?${deal}&${acting}`),
      },
    });
    const { results, primaryAction } = response.body as Cards;
    const links = [...results.flatMap(({ link, actions }) => [link, ...actions.map(({ uri }) => uri)])];
    for (const link of [...links, primaryAction!.uri]) assert.equal((await fetch(link)).status, 200, link);
    const html = await (await fetch(primaryAction!.uri)).text();
    assert.ok(html.includes(`<a href="${page}">&#60;b&#62;Lease&#60;/b&#62;</a>`), html);
  });

  it("shows the newest five contracts of the record's ID and type", async (t) => {
    const { cards, contractOf } = await startCrm(t);
    await contractOf("8");
    await contractOf("9", { record_type: "CONTACT" }, "a contact");
    for (const name of ["1", "2", "3", "4", "5", "6"]) await contractOf("9", {}, name);
    const titles = ({ results }: Cards) => results.map(({ title }) => title);
    assert.deepEqual(titles(await cards(deal)), ["6", "5", "4", "3", "2"]);
    assert.deepEqual(titles(await cards("associatedObjectId=8")), ["Of 8"]);
  });

  it("shows only contracts in workspaces of the acting CRM user", async (t) => {
    const { get, cards, contractOf } = await startCrm(t);
    const { id, number } = await contractOf("9");
    assert.deepEqual(
      (await cards(deal)).results.map(({ title }) => title),
      ["Of 9"],
    );
    // A member of another workspace, an unknown user, a deactivated user, and no user.
    for (const user of ["dina@contoso.example", "nobody@x.example", "cleo@northwind.example", ""]) {
      const userQuery = `userEmail=${encodeURIComponent(user)}`;
      assert.deepEqual(await cards(deal, userQuery), { results: [] }, user);
      assert.match(String((await get(`${iframe}?${deal}&${userQuery}`)).body), /No contract names this record/);
      for (const contractId of [id, String(number)]) {
        const { status, body } = await get(`${iframe}?contract_id=${contractId}&${userQuery}`);
        assert.deepEqual([status, String(body).includes(`Contract ${contractId} not found.`)], [404, true], user);
      }
    }
  });

  it("returns no card without contracts, without a record, or for another cluster", async (t) => {
    const { cards, contractOf } = await startCrm(t);
    await contractOf("9");
    for (const query of ["associatedObjectId=10", "portalId=1", `cluster_id=us-1&${deal}`]) {
      assert.deepEqual(await cards(query), { results: [] }, query);
    }
  });
});

describe("embedded app of crm_a", () => {
  it("redirects to the page of the named contract by either ID", async (t) => {
    const { get, cluster, contractOf } = await startCrm(t);
    const { id, number } = await contractOf("9");
    for (const contractId of [id, String(number)]) {
      const response = await get(`${iframe}?contract_id=${contractId}&${acting}`);
      assert.deepEqual([response.status, response.headers.get("location")], [302, `${cluster}/contracts/${id}`]);
    }
  });

  it("escapes an unknown contract ID in its page", async (t) => {
    const { get } = await startCrm(t);
    const { status, body } = await get(`${iframe}?contract_id=${encodeURIComponent("<b>T-9")}&${acting}`);
    assert.deepEqual([status, String(body).includes("Contract &#60;b&#62;T-9 not found.")], [404, true]);
  });

  it("escapes the record's markup in a page that may be framed", async (t) => {
    const { get } = await startCrm(t);
    const attack = "</script><script>alert(1)</script>";
    const query = new URLSearchParams({ portalId: attack, associatedObjectId: "245", associatedObjectType: "CONTACT" });
    const response = await get(`${iframe}?${query}`);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
    assert.doesNotMatch(response.headers.get("content-security-policy") ?? "", /frame-ancestors/);
    const page = String(response.body);
    assert.ok(!page.includes("<script>alert"), page);
    assert.match(page, /No contract names this record/);
    const [, context = ""] = /<script type="application\/json" id="context">(.*)<\/script>/.exec(page) ?? [];
    assert.deepEqual(JSON.parse(context), {
      cluster_id: "eu-1",
      portal_id: attack,
      object_type: "CONTACT",
      object_id: "245",
    });
  });

  it("records the unchanged request in the cluster's inbox", async (t) => {
    const { emulator, get } = await startCrm(t);
    await get(`${iframe}?${deal}`);
    const { body } = await emulator.control("GET", "clusters/eu-1/inbox");
    const [{ method, target }] = (body as { items: { method: string; target: string }[] }).items as [never];
    assert.deepEqual({ method, target }, { method: "GET", target: `${iframe}?${deal}` });
  });
});
