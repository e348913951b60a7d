import assert from "node:assert/strict";
import type { Made } from "../contracts.ts";
import type { TestEmulator } from "../emulator.ts";
import { hiddenIn } from "./forms.ts";

/** The page of a contract as it was answered. */
export interface Shown {
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** What a person reads on it, in one line. */
  readonly text: string;
}

async function shown(response: Response): Promise<Shown> {
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

export const opened = async (link: string, headers: Record<string, string> = {}): Promise<Shown> =>
  shown(await fetch(link, { headers }));

/** The buttons of a page. */
export const buttonsOn = ({ html }: Shown): string[] =>
  [...html.matchAll(/<button name="act" value="([^"]*)"/g)].map(([, act]) => act!);

/** Sends a form as the page says; what is given wins over what stands there. */
export async function submitted(
  link: string,
  fields: Readonly<Record<string, string>>,
  headers: Record<string, string> = {},
): Promise<Shown> {
  const { html } = await opened(link);
  const body = new URLSearchParams({ ...hiddenIn(html), ...fields });
  return shown(await fetch(link, { method: "POST", body, headers, redirect: "manual" }));
}

/** Sends a form that must be carried out, and gives the page that it leads to. */
export async function done(link: string, fields: Readonly<Record<string, string>>): Promise<Shown> {
  const { status, headers, text } = await submitted(link, fields);
  assert.equal(status, 303, text);
  return opened(new URL(headers.get("location")!, link).href);
}

/** The link of a signatory, as the contract API gives it. */
export async function signingLink({ api }: Pick<TestEmulator, "api">, { number }: Made, email: string) {
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

/** Everybody of a contract, as the control plane names them. */
export async function peopleOf({ ask }: Pick<TestEmulator, "ask">, { id }: Made): Promise<readonly Participant[]> {
  return ((await ask("GET", `contracts/${id}`)).body as { people: Participant[] }).people;
}

export async function linkOf(on: Pick<TestEmulator, "ask">, contract: Made, email: string): Promise<string> {
  const { link } = (await peopleOf(on, contract)).find((each) => each.email === email)!;
  return link;
}
