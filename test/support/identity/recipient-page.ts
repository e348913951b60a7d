import assert from "node:assert/strict";
import type { ContractIds } from "../contracts.ts";
import type { TestEmulator } from "../emulator.ts";
import { getHiddenFields } from "./forms.ts";

/** The response with the page of a contract. */
export interface RecipientPage {
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** Visible text of the page in one line. */
  readonly text: string;
}

async function readPage(response: Response): Promise<RecipientPage> {
  const html = await response.text();
  const [, main = ""] = /<main>(.*)<\/main>/s.exec(html) ?? [];
  const text = main
    .replace(/<[^>]*>/g, " ")
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replace(/\s+/g, " ")
    .replace(/ (?=[.,:])/g, "")
    .trim();
  return { status: response.status, headers: response.headers, html, text };
}

export const openPage = async (link: string, headers: Record<string, string> = {}): Promise<RecipientPage> =>
  readPage(await fetch(link, { headers }));

/** Returns the labels of the buttons of a page. */
export const getButtons = ({ html }: RecipientPage): string[] =>
  [...html.matchAll(/<button name="act" value="([^"]*)"/g)].map(([, act]) => act!);

/** Submits a form of a page. The given fields replace those of the page. */
export async function submitForm(
  link: string,
  fields: Readonly<Record<string, string>>,
  headers: Record<string, string> = {},
): Promise<RecipientPage> {
  const { html } = await openPage(link);
  const body = new URLSearchParams({ ...getHiddenFields(html), ...fields });
  return readPage(await fetch(link, { method: "POST", body, headers, redirect: "manual" }));
}

/** Submits a form that must succeed, and returns the next page. */
export async function submitSuccessfully(
  link: string,
  fields: Readonly<Record<string, string>>,
): Promise<RecipientPage> {
  const { status, headers, text } = await submitForm(link, fields);
  assert.equal(status, 303, text);
  return openPage(new URL(headers.get("location")!, link).href);
}

/** Requests the link of a signatory from the contract API. */
export async function getSigningLink({ api }: Pick<TestEmulator, "api">, { number }: ContractIds, email: string) {
  const { body } = await api(
    "GET",
    `/api/v2.1/public/contracts/${number}/recipients/recipient_link/?recipient_email=${encodeURIComponent(email)}`,
  );
  return (body as { link: string }).link;
}

interface Participant {
  readonly name: string;
  readonly email: string;
  readonly link: string;
  readonly turn: readonly string[];
}

/** Lists the people of a contract from the control plane. */
export async function listPeople(
  { control }: Pick<TestEmulator, "control">,
  { id }: ContractIds,
): Promise<readonly Participant[]> {
  return ((await control("GET", `contracts/${id}`)).body as { people: Participant[] }).people;
}

export async function getRecipientLink(
  emulator: Pick<TestEmulator, "control">,
  contract: ContractIds,
  email: string,
): Promise<string> {
  const { link } = (await listPeople(emulator, contract)).find((each) => each.email === email)!;
  return link;
}
