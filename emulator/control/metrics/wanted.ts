/** A part of an Accept header: a range of types with its parameters, and how much it is wanted. */
interface Range {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly weight: number;
}

/**
 * Whether a scraper wants OpenMetrics, and no less than the text format: by the most specific range that fits each
 * (RFC 9110, 12.5.1). Who takes everything alike gets the text, as from exporters of others.
 */
export function takesOpenMetrics(accept: string | undefined): boolean {
  const ranges = rangesOf(accept ?? "");
  const open = weightOf(ranges, "application/openmetrics-text", "1.0.0") ?? weightOf(ranges, "application/*");
  if (open === undefined || open === 0) return false;
  const plain = weightOf(ranges, "text/plain", "0.0.4") ?? weightOf(ranges, "text/*") ?? weightOf(ranges, "*/*");
  return open >= (plain ?? 0);
}

/** Of those of the type that take the version, whether they name it or none. */
function weightOf(ranges: readonly Range[], type: string, version?: string): number | undefined {
  const weights = ranges
    .filter((range) => range.type === type && [undefined, version].includes(range.parameters.get("version")))
    .map(({ weight }) => weight);
  return weights.length === 0 ? undefined : Math.max(...weights);
}

const rangesOf = (accept: string): Range[] =>
  accept.split(",").map((one) => {
    const [type = "", ...pairs] = one.split(";");
    const parameters = new Map(pairs.map(parameterOf));
    const weight = Number(parameters.get("q") ?? 1);
    return { type: type.trim().toLowerCase(), parameters, weight: Number.isNaN(weight) ? 0 : weight };
  });

function parameterOf(pair: string): [name: string, value: string] {
  const [name = "", value = ""] = pair.split("=", 2);
  return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, "$1")];
}
