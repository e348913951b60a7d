type Labels = Readonly<Record<string, string>>;

/** A value with what tells it from others of its family. */
export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** Values that belong together. */
export type Family = {
  readonly name: string;
  readonly help: string;
  /** The last part of its name, where it has one. */
  readonly unit?: "seconds" | "bytes" | "ratio";
} & (
  | { readonly type: "counter" | "gauge"; readonly samples: readonly Sample[] }
  | { readonly type: "histogram"; readonly histograms: readonly Histogram[] }
);

export interface Histogram {
  readonly labels: Labels;
  /** Upper bounds. */
  readonly bounds: readonly number[];
  /** How many are in each, beyond the one before; the last are beyond all. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** OpenMetrics 1.0.0. */
export const formatOpenMetrics = (families: readonly Family[]): string =>
  `${families.flatMap(openMetricsLines).join("\n")}\n# EOF\n`;

/** Prometheus' text format 0.0.4: it knows no units and no end, and a family by the very name of its samples. */
export const formatPrometheusText = (families: readonly Family[]): string =>
  `${families.flatMap(plainLines).join("\n")}\n`;

function openMetricsLines(family: Family): string[] {
  const { name, help, type, unit } = family;
  return [
    `# TYPE ${name} ${type}`,
    ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${quoted(help)}`,
    ...sampleLines(family),
  ];
}

function plainLines(family: Family): string[] {
  const name = family.type === "counter" ? totalOf(family) : family.name;
  return [`# TYPE ${name} ${family.type}`, `# HELP ${name} ${escaped(family.help)}`, ...sampleLines(family)];
}

const totalOf = ({ name }: Family): string => `${name}_total`;

function sampleLines(family: Family): string[] {
  if (family.type === "histogram") return family.histograms.flatMap((one) => histogramLines(family.name, one));
  const name = family.type === "counter" ? totalOf(family) : family.name;
  return family.samples.map(({ labels, value }) => line(name, labels, value));
}

function histogramLines(name: string, { labels, bounds, counts, sum }: Histogram): string[] {
  let below = 0;
  const buckets = counts.map((count, i) => {
    below += count;
    return line(`${name}_bucket`, { ...labels, le: i < bounds.length ? decimal(bounds[i]!) : "+Inf" }, below);
  });
  return [...buckets, line(`${name}_count`, labels, below), line(`${name}_sum`, labels, sum)];
}

const line = (name: string, labels: Labels = {}, value: number): string => `${name}${braced(labels)} ${value}`;

function braced(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${quoted(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

const quoted = (text: string): string => escaped(text).replaceAll('"', '\\"');

/** Bounds are floating-point numbers, and are to look so. */
const decimal = (bound: number): string => (Number.isInteger(bound) ? `${bound}.0` : String(bound));
