import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDomainError, createDraftContract, createPdf, createSentContract } from "../../../support/contracts.ts";
import { subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { getLinks } from "../../../support/identity/forms.ts";
import { getSigningLink, openPage, type RecipientPage, submitForm } from "../../../support/identity/recipient-page.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";

const ada = "ada@northwind.example";
const jo = "jo@acme.example";
const bothRecipients = {
  signatories: [
    { name: "Ada", email: ada, is_counterparty_signatory: false },
    { name: "Jo", email: jo, is_counterparty_signatory: true, counterparty_name: "Acme Inc." },
  ],
  contract_template_id: 102,
  contract_data: { start_date: "2031-02-01", seats: 3 },
};

/** The link with other parameters. Undefined removes a parameter. */
function changeParameters(link: string, changes: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(link);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.href;
}

const getKey = (link: string): string => new URL(link).searchParams.get("key")!;
const getStatusAndText = ({ status, text }: RecipientPage) => ({ status, text });

const notTheirs = {
  status: 404,
  text: "Invalid link This link is incomplete, or was issued for another person or contract. Ask for a new one.",
};

describe("generation of recipient links", () => {
  it("generates stable links that differ by recipient and contract", async (t) => {
    const emulator = await startTestEmulator(t);
    const [first, second] = [
      await createSentContract(emulator.api, bothRecipients),
      await createSentContract(emulator.api, bothRecipients),
    ];
    const links = [
      await getSigningLink(emulator, first, ada),
      await getSigningLink(emulator, first, jo),
      await getSigningLink(emulator, second, ada),
      await getSigningLink(emulator, second, jo),
    ];
    assert.equal(new Set(links.map(getKey)).size, 4);
    assert.equal(await getSigningLink(emulator, first, "JO@acme.example"), links[1]);
    const start = `${emulator.clusters[0]!.url}/contracts/T-1?person=jo%40acme.example&key=`;
    assert.match(links[1]!.replace(start, ""), /^[\w-]{43}$/);
  });

  it("omits links from logs", async (t) => {
    const emulator = await startTestEmulator(t);
    const link = await getSigningLink(emulator, await createSentContract(emulator.api), jo);
    await openPage(link);
    const { items } = (await emulator.control("GET", "requests")).body as { items: { target: string }[] };
    const pages = items.map(({ target }) => target).filter((target) => target.startsWith("/contracts/"));
    assert.deepEqual(pages, ["/contracts/T-1?person=[redacted]&key=[redacted]"]);
  });

  it("generates identical links in a run with the same seed", async (t) => {
    const link = async () => {
      const emulator = await startTestEmulator(t, { deterministic: true });
      return new URL(await getSigningLink(emulator, await createSentContract(emulator.api), jo)).search;
    };
    assert.equal(await link(), await link());
  });

  it("rejects a link with another name, key or contract", async (t) => {
    const emulator = await startTestEmulator(t);
    const [first, second] = [
      await createSentContract(emulator.api, bothRecipients),
      await createSentContract(emulator.api, bothRecipients),
    ];
    const link = await getSigningLink(emulator, first, jo);
    const wrong = [
      { person: ada },
      { person: "" },
      { person: undefined },
      { key: getKey(await getSigningLink(emulator, first, ada)) },
      { key: getKey(await getSigningLink(emulator, second, jo)) },
      { key: undefined },
      { key: "" },
      { key: "\u0000".repeat(43) },
      { key: "x".repeat(10_000) },
      { person: "__proto__", key: "constructor" },
    ].map((changes) => changeParameters(link, changes));
    for (const each of [...wrong, link.replace("T-1", second.id)]) {
      assert.deepEqual(getStatusAndText(await openPage(each)), notTheirs, each);
      assert.deepEqual(getStatusAndText(await openPage(each.replace("?", "/document?"))), notTheirs, each);
    }
  });

  it("rejects links to missing, deleted and foreign contracts", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const link = await getSigningLink(emulator, contract, jo);
    const none = async (url: string, id: string) =>
      assert.deepEqual(getStatusAndText(await openPage(url)), {
        status: 404,
        text: `Contract not found Contract ${id} not found.`,
      });
    await none(link.replace("T-1", "T-9"), "T-9");
    await none(link.replace("T-1", "H-1"), "H-1");
    await none(link.replace("T-1", "T-01"), "T-01");
    await none(link.replace(emulator.clusters[0]!.url, emulator.clusters[1]!.url), "T-1");
    await emulator.control("POST", "contracts/T-1/delete", { body: {} });
    await none(link, "T-1");
    await none(link.replace("?", "/document?"), "T-1");
    assert.equal((await submitForm(link, { act: "sign" })).status, 404);
  });

  it("issues links only to signatories and counterparty contacts", async (t) => {
    const emulator = await startTestEmulator(t);
    const { number } = await createSentContract(emulator.api);
    const recipient = `/api/v2.1/public/contracts/${number}/recipients/recipient_link/?recipient_email=`;
    const embedded = (id: number) => `/api/v2.1/public/embedded/contracts/${id}/counter_party/?cp_email_id=`;
    const { link } = (await emulator.api("GET", `${recipient}${jo}`)).body as { link: string };
    assert.deepEqual((await emulator.api("GET", `${embedded(number)}Jo@acme.example`)).body, { url: link });
    // The customer's page embeds the page in a frame.
    const policy = (await openPage(link)).headers.get("content-security-policy");
    assert.match(policy!, /^default-src 'none'; style-src 'sha256-[^']*'; base-uri 'none'; form-action 'self'$/);
    const eve = "eve@evil.example";
    const stranger = createDomainError("SVC_ASSUMED_107", `${eve} is not a signatory of this contract.`);
    await assertRejected(emulator, () => emulator.api("GET", `${recipient}${eve}`), stranger);
    const noContact = `${eve} is not a contact of a counterparty of this contract.`;
    await assertRejected(
      emulator,
      () => emulator.api("GET", `${embedded(number)}${eve}`),
      createDomainError("SVC_ASSUMED_115", noContact),
    );
    await assertRejected(emulator, () => emulator.api("GET", `${embedded(7)}${jo}`), notFoundResponse);
  });
});

describe("contract_link", () => {
  it("shows the contract to unauthenticated users without actions", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSentContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["MAILER_EMAIL_EVENT"]);
    const url = `${emulator.clusters[0]!.url}/contracts/T-1`;
    const page = await openPage(url);
    assert.equal(
      page.text,
      "NDA with Acme Contract T-1 (SVC-1) Between Northwind GmbH and Acme Inc. Status Out for signature (SIGN) " +
        "Next Waiting for Jo Doe to sign. Document Read the PDF (opens in a new tab) " +
        "Signatories Jo Doe Acme Inc., jo@acme.example Asked to sign 2031-01-02 at 03:04 UTC",
    );
    assert.doesNotMatch(page.html, /<form|<script|<button/);
    assert.deepEqual(await readPayloads(), []);
    for (const method of ["POST", "PUT", "DELETE"]) {
      const response = await fetch(url, { method });
      assert.deepEqual([response.status, response.headers.get("allow")], [405, "GET, HEAD"]);
    }
  });

  for (const [status, text, label] of [
    ["DRAFT", "Draft (DRAFT) Next Waiting for Ada Keller to send it.", []],
    ["REDLINING", "Under review (REDLINING) Next Waiting for Ada Keller to send it for signature.", ["send", "unmark"]],
    ["ON_HOLD", "On hold (ON_HOLD) Next On hold. No action is possible until the contract is resumed.", ["hold"]],
    ["EXECUTED", "Executed (EXECUTED) Next No pending actions.", ["send", "sign"]],
    ["VOIDED", "Void (VOIDED) Next No pending actions.", ["void"]],
  ] as const) {
    it(`shows the next step in ${status}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { id } = await createDraftContract(emulator.api);
      const api = (path: string, body = {}) =>
        emulator.api("POST", `/api/v2.1/public/contracts/${id}/${path}`, { body });
      const moves: Record<string, () => Promise<unknown>> = {
        send: () => api("send_to_counterparties"),
        unmark: () => api("unmark_for_execution"),
      };
      for (const move of label)
        await (moves[move]?.() ?? emulator.control("POST", `contracts/${id}/${move}`, { body: {} }));
      assert.ok((await openPage(`${emulator.clusters[0]!.url}/contracts/${id}`)).text.includes(`Status ${text}`));
    });
  }
});

describe("document behind a link", () => {
  const documentOf = async (page: RecipientPage, base: string) => {
    const [path] = getLinks(page.html);
    const response = await fetch(new URL(path!, base));
    const header = (name: string) => response.headers.get(name);
    return {
      bytes: Buffer.from(await response.arrayBuffer()),
      head: [response.status, header("content-type"), header("x-content-type-options"), header("content-disposition")],
    };
  };
  const inline = (name: string) => [200, "application/pdf", "nosniff", `inline; filename="${name}"`];

  it("equals the downloaded document of a template contract", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const link = await getSigningLink(emulator, contract, jo);
    const download = await fetch(`${emulator.clusters[0]!.url}/api/v2.1/public/contracts/${contract.id}/download`, {
      method: "POST",
      headers: { "client-id": emulator.clusters[0]!.clientId!, "client-secret": emulator.clusters[0]!.clientSecret! },
    });
    const expected = { bytes: Buffer.from(await download.arrayBuffer()), head: inline("NDA with Acme.pdf") };
    assert.deepEqual(await documentOf(await openPage(link), link), expected);
    const open = `${emulator.clusters[0]!.url}/contracts/T-1`;
    assert.deepEqual(await documentOf(await openPage(open), open), expected);
    const head = await fetch(link.replace("?", "/document?"), { method: "HEAD" });
    assert.deepEqual([head.status, await head.text()], [200, ""]);
  });

  it("returns the newest version, inline for a PDF and as a download otherwise", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const url = `${emulator.clusters[0]!.url}/contracts/T-1`;
    const upload = async (document_name: string, document_base_64: string) => {
      const path = `/api/v2.1/public/contracts/${contract.number}/contract_version/`;
      const body = { document_name, document_base_64, is_executed_version: false };
      const response = await emulator.api("POST", path, { body });
      assert.equal(response.status, 201, JSON.stringify(response.body));
    };
    const bytes = await createPdf();
    await upload("second.pdf", bytes.toString("base64"));
    assert.deepEqual(await documentOf(await openPage(url), url), {
      bytes,
      head: [200, "application/pdf", "nosniff", "inline; filename=second.pdf"],
    });
    const docx = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), Buffer.alloc(40)]);
    await upload("third.docx", docx.toString("base64"));
    const type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    const head = [200, type, "nosniff", "attachment; filename=third.docx"];
    assert.deepEqual(await documentOf(await openPage(url), url), { bytes: docx, head });
  });

  it("rejects a POST and does not serve subpaths", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSentContract(emulator.api);
    const url = `${emulator.clusters[0]!.url}/contracts/T-1`;
    assert.equal((await fetch(`${url}/document`, { method: "POST" })).status, 405);
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", "/contracts/T-1/document/more")).status, 200);
  });
});
