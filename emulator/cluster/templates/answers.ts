import { toComputable } from "../../../src/base/json.ts";
import { isObject } from "../../../src/base/object.ts";
import { parseIsoTime } from "../../../src/base/quantities.ts";
import type { IntakeQuestion } from "../../domain/workspaces.ts";
import type { FindingReporter } from "../../http/handler.ts";
import { formatUnknownField } from "../../http/validation/lax-coercion.ts";

/** Problems by variable, with the messages of shape C. */
type AnswerProblems = Readonly<Record<string, readonly string[]>>;

/** Accepts unknown keys. With `partial`, required answers can be missing (DECISIONS.md, F11). */
export function validateAnswers(
  questions: readonly IntakeQuestion[],
  answers: Readonly<Record<string, unknown>>,
  { partial = false } = {},
): AnswerProblems | undefined {
  const problems = new Map<string, readonly string[]>();
  for (const question of questions) {
    const { variable, required } = question;
    const answer = Object.hasOwn(answers, variable) ? toComputable(answers[variable]) : undefined;
    if (answer === undefined || answer === null || answer === "") {
      const isOmitted = partial && !Object.hasOwn(answers, variable);
      if (required && !isOmitted) problems.set(variable, ["Field required"]);
    } else {
      const problem = describeMismatch(question, answer);
      if (problem !== undefined) problems.set(variable, [problem]);
    }
  }
  return problems.size > 0 ? Object.fromEntries(problems) : undefined;
}

const maxFindings = 10;

/** Reports answers without a question. They are stored, but the real service might reject them. */
export function reportUnknownAnswers(
  finding: FindingReporter,
  prefix: string,
  questions: readonly IntakeQuestion[],
  answers: Readonly<Record<string, unknown>>,
): void {
  const variables = questions.map(({ variable }) => variable);
  const unknownNames = Object.keys(answers).filter((name) => !variables.includes(name));
  for (const name of unknownNames.slice(0, maxFindings)) {
    finding("unknown-field", formatUnknownField(`${prefix}${name}`, name, variables));
  }
}

export function applyDefaultAnswers(
  questions: readonly IntakeQuestion[],
  answers: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const defaults = questions.flatMap(({ variable, default_value }) =>
    default_value === undefined || default_value === null ? [] : [[variable, default_value] as const],
  );
  return { ...Object.fromEntries(defaults), ...answers };
}

function describeMismatch({ type, options }: IntakeQuestion, answer: unknown): string | undefined {
  const values = options?.map((option) => option.value);
  const isAllowedChoice = (value: unknown) => typeof value === "string" && (!values || values.includes(value));
  const describeChoices = () => `Value should be one of ${(values ?? []).join(", ")}`;
  switch (type) {
    case "string":
      return typeof answer === "string" ? undefined : "Input should be a valid string";
    case "boolean":
      return typeof answer === "boolean" ? undefined : "Input should be a valid boolean";
    case "int":
      return Number.isInteger(answer) || isDuration(answer) ? undefined : "Input should be a valid integer";
    case "float":
      return typeof answer === "number" || isCurrency(answer) ? undefined : "Input should be a valid number";
    case "date":
      return typeof answer === "string" && !Number.isNaN(parseIsoTime(answer))
        ? undefined
        : "Input should be a valid date";
    case "enum":
      return isAllowedChoice(answer) ? undefined : describeChoices();
    case "array of strings":
      return describeItems(answer, (each) => typeof each === "string", "Each item should be a valid string");
    case "array of options":
      return describeItems(answer, isAllowedChoice, describeChoices());
    case "repeating":
      return describeItems(answer, isObject, "Each item should be a valid dictionary");
  }
}

function describeItems(answer: unknown, isItem: (value: unknown) => boolean, problem: string): string | undefined {
  if (!Array.isArray(answer)) return "Input should be a valid list";
  return answer.every(isItem) ? undefined : problem;
}

/** `{"type": "USD", "value": 1}` */
const isCurrency = (value: unknown): boolean =>
  isObject(value) && typeof value.type === "string" && typeof value.value === "number";

/** `{"days": 180, "type": "MONTHS", "value": 6}` */
const isDuration = (value: unknown): boolean =>
  isObject(value) && typeof value.days === "number" && ["DAYS", "MONTHS", "YEARS"].includes(String(value.type));
