import type * as z from "zod";
import type { Attribute } from "../../../api/contracts/shapes.ts";
import { showTemplateMetadata } from "../../../api/contracts/templates.ts";
import { isEmailAddress } from "../../../base/email-address.ts";
import { tryParseJson } from "../../../base/object.ts";
import { parseIsoTime } from "../../../base/quantities.ts";
import { ServiceError } from "../../../client/errors.ts";
import type { Context } from "../../command.ts";
import { formatNextCommand } from "../../parse/argv.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { askChoice, askSeveral, askText, askYesNo, type PromptValidator } from "../../prompt/ask.ts";
import { withSpinner } from "../../prompt/terminal.ts";

type Question = z.output<typeof Attribute>;

type ContractInput = CommandInputOf<
  readonly [
    { readonly flag: "contract-template-id"; readonly type: "integer" },
    { readonly flag: "set"; readonly type: "text"; readonly repeatable: true },
  ]
>;

const checkDate: PromptValidator = (text) =>
  (/^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(parseIsoTime(text))) || "This must be a date (2031-05-07).";
const checkWholeNumber: PromptValidator = (text) => /^-?\d+$/.test(text) || "This must be a whole number.";
const checkNumber: PromptValidator = (text) =>
  (text.trim() !== "" && Number.isFinite(Number(text))) || "This must be a number.";
const checkAddress: PromptValidator = (text) => isEmailAddress(text) || "This must be an e-mail address.";
const checkPresent: PromptValidator = (text) => text.trim() !== "" || "A value is required (press Ctrl-C to cancel).";
const checkList: PromptValidator = (text) =>
  Array.isArray(tryParseJson(text)) || 'This must be a JSON list ([{"item": "Desk"}]).';

/** Prompts for the attributes of the chosen template and the counterparty, as --set would provide them. */
export async function promptForContract(input: ContractInput, context: Context): Promise<ContractInput> {
  const template_id = Number(input.flags["contract-template-id"]);
  const { attributes, counter_party_kind } = await withSpinner(context, "Reading the template", async () => {
    const client = await context.client("contracts");
    return client.call(showTemplateMetadata, { params: { template_id } });
  });
  const data = await askAttributes(attributes, context);
  const counterparty = await askCounterparty(counter_party_kind, context);
  const assignments = [
    `contract_data=${JSON.stringify(data)}`,
    `counter_party_details=${JSON.stringify([counterparty])}`,
  ];
  return addAssignments(input, assignments, context);
}

/**
 * Prompts for a signatory of the own side if the service requires one, because templates do not show it. Returns the
 * completed input, or undefined if there is nothing to prompt for.
 */
export async function askForSignatory(error: unknown, input: ContractInput, context: Context) {
  if (!(error instanceof ServiceError) || error.status !== 400) return undefined;
  const { message } = error.problem;
  const assignments = input.flags.set ?? [];
  if (!/creator/i.test(message) || assignments.some((assignment) => assignment.startsWith("signatories=")))
    return undefined;
  await context.output.warn(`The service requires more data: ${message}`);
  const signatory = {
    name: await askText("Name of your signatory:", context, checkPresent),
    email: await askText("Their e-mail address:", context, checkAddress),
    is_counterparty_signatory: false,
  };
  return addAssignments(
    input,
    [...assignments, `signatories=${JSON.stringify([...getCounterpartySignatories(assignments), signatory])}`],
    context,
  );
}

/** A caller that lists one signatory has to list all of them. */
function getCounterpartySignatories(assignments: readonly string[]): object[] {
  const details = assignments.find((assignment) => assignment.startsWith("counter_party_details="))!;
  const [counterparty] = JSON.parse(details.slice(details.indexOf("=") + 1)) as [
    Awaited<ReturnType<typeof askCounterparty>>,
  ];
  const { first_name, last_name, email } = counterparty.poc_details;
  const name = `${first_name} ${last_name}`.trim();
  const counterparty_name = counterparty.organization_name ?? name;
  return [{ name, email, is_counterparty_signatory: true, counterparty_name }];
}

async function addAssignments(input: ContractInput, assignments: readonly string[], context: Context) {
  const words = ["contracts", "create", "--contract-template-id", String(input.flags["contract-template-id"])];
  await context.output.note("To run this without prompts:");
  await context.output.note(
    `  ${formatNextCommand([...words, ...assignments.flatMap((assignment) => ["--set", assignment])], context)}`,
  );
  return { ...input, flags: { ...input.flags, set: assignments } };
}

async function askAttributes(attributes: readonly Question[], context: Context): Promise<Record<string, unknown>> {
  const requiredAttributes = attributes.filter((attribute) => attribute.required && attribute.default_value == null);
  const optionalAttributes = attributes.filter((attribute) => !requiredAttributes.includes(attribute));
  const answers: Record<string, unknown> = Object.create(null);
  for (const attribute of requiredAttributes) answers[attribute.variable] = await askAttribute(attribute, context);
  if (optionalAttributes.length === 0) return answers;
  const names = optionalAttributes.map((attribute) => attribute.display_label).join(", ");
  if (!(await askYesNo(`Fill in optional fields (${names})?`, context))) return answers;
  for (const attribute of optionalAttributes) {
    if (await askYesNo(`${attribute.display_label}?`, context))
      answers[attribute.variable] = await askAttribute(attribute, context);
  }
  return answers;
}

/** Prompts for an attribute and converts the value to its type (DECISIONS.md, F11). */
async function askAttribute(question: Question, context: Context): Promise<unknown> {
  const { display_label, help_text, type } = question;
  const title = help_text ? `${display_label} (${help_text}):` : `${display_label}:`;
  const askForText = (check: PromptValidator) => askText(title, context, check);
  const choices = (question.options ?? []).map(({ label, value }) => ({ name: label, value }));
  switch (type) {
    case "boolean":
      return askYesNo(title.replace(/:$/, "?"), context);
    case "int":
      return Number(await askForText(checkWholeNumber));
    case "float":
      return Number(await askForText(checkNumber));
    case "date":
      return askForText(checkDate);
    case "enum":
      return choices.length > 0 ? askChoice<unknown>(title, choices, context) : askForText(checkPresent);
    case "array of options":
      return askSeveral<unknown>(title, choices, question.required, context);
    case "array of strings":
      return (await askForText(checkPresent)).split(",").map((part) => part.trim());
    case "repeating":
    case "array of files":
      return JSON.parse(await askForText(checkList));
    case "string":
      return askForText(checkPresent);
  }
}

async function askCounterparty(kind: "Individual" | "Organisation" | "Both", context: Context) {
  const kinds = [
    { name: "An organization", value: false },
    { name: "A person", value: true },
  ];
  const is_individual =
    kind === "Both" ? await askChoice("Who is the counterparty?", kinds, context) : kind === "Individual";
  const askForText = (title: string, check: PromptValidator = checkPresent) => askText(title, context, check);
  const organization: { organization_name?: string } = is_individual
    ? {}
    : { organization_name: await askForText("Name of the organization:") };
  const poc_details = {
    first_name: await askForText("First name of the contact:"),
    last_name: await askForText("Last name:", () => true),
    email: await askForText("E-mail address:", checkAddress),
  };
  return { is_individual, ...organization, poc_details };
}
